import { describe, expect, onTestFinished, test } from 'vitest';
import type1 from '../../processors/type-1/index.ts';
import type2 from '../../processors/type-2/index.ts';
import { Secret } from '../../src/codecs/bytes/secret.ts';
import { SoftHsm } from '../../src/codecs/crypto/soft-hsm.ts';
import { testPurchase } from '../../src/kits/processor-kit/conformance/check.ts';
import type { Processor } from '../../src/kits/processor-kit/index.ts';
import { RawLine } from '../simulator/raw-line.ts';
import { Acquirer } from '../simulator/support.ts';
import { TapwireProcess } from '../support/tapwire-process.ts';

/** The command with its switches ready: their ports in the order of the arguments. */
async function simulate(...words: string[]) {
  const simulated = new TapwireProcess(['simulate', ...words]);
  const [, ledger] = await simulated.printed(/ledger: (\S+)\n/);
  const ports = [...simulated.output.matchAll(/listens on 127\.0\.0\.1:(\d+)/g)].map(([, port]) => Number(port));
  return { simulated, ports, ledger: new URL(ledger!) };
}

function acquirerOf(processor: Processor, port: number, hsm?: SoftHsm): Acquirer {
  const config = { ...processor.exampleConfig, addresses: [{ host: '127.0.0.1', port }] };
  const acquirer = new Acquirer(processor, config, hsm);
  onTestFinished(() => acquirer.pool.destroy());
  return acquirer;
}

/** The printed key, in an HSM of the acquirer. */
function printedKey(output: string, keyId: string): SoftHsm {
  const [, hex = ''] = new RegExp(`key ${keyId} \\(mac,[^)]*\\): ([0-9A-F]{32})\n`).exec(output) ?? [];
  const bytes = new Secret<Uint8Array>(Buffer.from(hex, 'hex'));
  return new SoftHsm({ environment: 'dev', keys: [{ keyId, usage: 'mac', algorithm: 'tdes', bytes }] });
}

describe('tapwire simulate', () => {
  test('responds for two types at once with the printed keys, keeps one ledger, and stops cleanly on request', async () => {
    const { simulated, ports, ledger } = await simulate('type-1=0', 'type-2=0');
    const one = await acquirerOf(type1, ports[0]!).tap(10_00);
    const keys = printedKey(simulated.output, 'type-2-mac');
    const two = await acquirerOf(type2, ports[1]!, keys).tap(12_00);
    expect([one.outcome?.kind, two.outcome?.kind]).toEqual(['approved', 'approved']);
    const { entries } = (await (await fetch(ledger)).json()) as { entries: object[] };
    expect(entries).toMatchObject([
      { processor: 'type-1', amountMinor: 1_000 },
      { processor: 'type-2', amountMinor: 1_200 },
    ]);
    const { exitCode, stdout } = await simulated.kill('SIGTERM');
    expect(exitCode).toBe(0);
    expect(stdout).toMatch(/^type-1 .* 1 approved +0 declined/m);
    expect(stdout).toMatch(/^type-2 .* 1 approved +0 declined/m);
  });

  test('responds to a request that lacks a field with 30, and names the field in its log', async () => {
    const { simulated, ports } = await simulate('type-1=0');
    const line = await RawLine.open(ports[0]!, type1);
    onTestFinished(() => line.end());
    const { exampleConfig } = type1;
    line.write(line.frame(type1.networkRequest('signOn', { stan: '000001', sentAtMs: Date.now() }, exampleConfig)!));
    expect(await line.next()).toMatchObject({ responseCode: '00' });
    const sale = type1.authorization(testPurchase({ stan: '000002' }), exampleConfig);
    line.write(line.frame({ ...sale, currency: undefined }));
    expect(await line.next()).toMatchObject({ mti: '0210', responseCode: '30', stan: '000002' });
    const [logged] = await simulated.printed(/^\{.*"request refused".*\}$/m);
    expect(JSON.parse(logged)).toMatchObject({
      event: 'refused',
      processor: 'type-1',
      responseCode: '30',
      reason: 'missing or malformed: currency',
    });
    expect(logged).not.toContain('4111111111111111');
  });

  test('causes the faults of its flags', async () => {
    const { ports } = await simulate('type-1=0', '--decline', '100%');
    const { outcome } = await acquirerOf(type1, ports[0]!).tap(10_00);
    expect(outcome).toMatchObject({ kind: 'declined', responseCode: '05' });
  });

  test('refuses to start on a port in use, and reports it', async () => {
    const { ports } = await simulate('type-1=0');
    const { exitCode, stderr } = await TapwireProcess.run(['simulate', `type-1=${ports[0]}`]);
    expect(exitCode).toBe(1);
    expect(stderr).toContain(`127.0.0.1:${ports[0]} cannot be used: Another program uses this port.`);
  });
});
