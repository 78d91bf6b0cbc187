import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import type1 from '../../processors/type-1/index.ts';
import type2 from '../../processors/type-2/index.ts';
import { readSimulateOptions } from '../../src/cli/simulate-options.ts';
import { openHsm } from '../../src/hsm-devices/open-hsm.ts';
import type { PayshieldHsm } from '../../src/hsm-devices/payshield/payshield-hsm.ts';
import type { Processor } from '../../src/kits/processor-kit/index.ts';
import { demoHsm } from '../../src/tools/simulator/demo-hsm.ts';
import { createIdentity } from '../connection/certificates.ts';
import { TapwireProcess } from '../support/tapwire-process.ts';

const TYPES = new Map<string, Processor>([type1, type2].map((each) => [each.type, each]));
const read = (...words: string[]) => readSimulateOptions(words, TYPES);

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'tapwire-simulate-hsm-'));
  const authority = createIdentity('simulated HSM');
  writeFileSync(join(folder, 'hsm.pem'), authority.cert);
  writeFileSync(join(folder, 'hsm.key'), authority.key);
});
afterAll(() => rmSync(folder, { recursive: true }));

describe('tapwire simulate hsm=PORT', () => {
  test('starts devices beside switches, or alone', () => {
    expect(read('type-1=9101', 'hsm=1500', 'hsm=1501')).toMatchObject({
      processors: [{ port: 9101 }],
      simulatedHsm: { ports: [1_500, 1_501], lmkForm: 'variant' },
    });
    expect(read('hsm=1500').processors).toEqual([]);
    expect(read().simulatedHsm.ports).toEqual([]);
  });

  test.each([
    [['hsm=65536'], /hsm=65536/],
    [['hsm=0', '--hsm-lmk', 'other'], /--hsm-lmk other/],
    [['hsm=0', '--hsm-file', 'hsm.txt'], /must end in \.json/],
    [['hsm=0', '--hsm-cert', 'hsm.pem'], /required together/],
    [['--hsm-file', 'hsm.json'], /no hsm=PORT/],
  ])('refuses %j', (words, reason) => {
    expect(() => read(...words)).toThrow(reason);
  });

  test.each(['variant', 'keyBlock'])('writes a configuration for HSM_MODULE with a %s LMK, over TLS', async (form) => {
    const file = join(folder, `${form}.json`);
    const secure = ['--hsm-cert', join(folder, 'hsm.pem'), '--hsm-key', join(folder, 'hsm.key')];
    const words = ['type-2=0', 'hsm=0', 'hsm=0', '--hsm-file', file, '--hsm-lmk', form, ...secure];
    const simulated = new TapwireProcess(['simulate', ...words]);
    onTestFinished(async () => void (await simulated.kill('SIGTERM')));
    await simulated.printed(/ledger: (\S+)\n/);
    const hsm = (await openHsm({ environment: 'prod', keysFile: undefined, module: file })) as PayshieldHsm;
    onTestFinished(() => hsm.close());
    expect(hsm.deviceStates().map(({ status }) => status)).toEqual(['ready', 'ready']);
    const soft = demoHsm([type2.exampleConfig], 'dev');
    expect(await hsm.kcv('type-2-mac')).toBe(await soft.kcv('type-2-mac'));
  });
});
