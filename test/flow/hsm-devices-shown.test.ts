import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { DEMO_READER_KEY, demoKey } from '../../src/codecs/crypto/soft-hsm.ts';
import { demoLmkKeys } from '../../src/tools/simulator/hsm/simulated-payshield.ts';
import { HOST, Opened } from '../hsm/support.ts';
import { eventually } from '../support/eventually.ts';
import { type Installation, startInstallation } from '../support/installation.ts';
import { tapwireHere } from '../support/run-here.ts';

const opened = new Opened();
let folder: string;
let installation: Installation;
let devices: { port: number; stop(): Promise<void> }[];

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'tapwire-hsm-shown-'));
  devices = await Promise.all([1, 2].map(() => opened.simulator({ lmkForm: 'variant' })));
  const keys = [demoKey('demo-mac-1', 'mac'), demoKey('zone-pin', 'pin'), demoKey(DEMO_READER_KEY, 'dukptBase')];
  const file = join(folder, 'hsm.json');
  const named = devices.map(({ port }, at) => ({ name: `hsm-${at}`, host: HOST, port }));
  const content = { kind: 'payshield', lmk: { form: 'variant' }, devices: named, keys: demoLmkKeys(keys, 'variant') };
  writeFileSync(file, JSON.stringify(content));
  installation = await startInstallation({
    settings: { HSM_MODULE: file, HSM_KEYS_FILE: undefined },
    config: { macKeys: [{ number: 1, keyId: 'demo-mac-1' }] },
  });
});
afterAll(async () => {
  await installation.stop();
  await opened.closeAll();
  rmSync(folder, { recursive: true });
});

const run = (...args: string[]) => tapwireHere(args, installation.environment());
const get = async (path: string) => (await fetch(new URL(path, installation.url))).text();

test('devices are shown by readiness, metrics and commands, with the reason when one stops', async () => {
  expect(JSON.parse(await get('/readyz'))).toMatchObject({ status: 'ok', hsm: { 'hsm-0': 'ready', 'hsm-1': 'ready' } });
  await eventually(async () => {
    const metrics = await get('/metrics');
    expect(metrics).toContain('tapwire_hsm_devices{device="hsm-0",kind="device",status="ready"} 1');
    expect(metrics).toMatch(/^tapwire_hsm_commands_total\{device="hsm-1",result="succeeded"\} \d/m);
    // Which device took them depends on which was ready first.
    expect(metrics).toMatch(/^tapwire_hsm_commands_total\{device="hsm-[01]",result="succeeded"\} [1-9]/m);
    expect(metrics).toMatch(/^tapwire_hsm_round_trip_seconds_count\{device="hsm-[01]"\} [1-9]/m);
  });
  const status = await run('hsm', 'status');
  expect(status.exitCode).toBe(0);
  expect(status.output).toMatch(/hsm-0 +127\.0\.0\.1:\d+ +ready/);

  await devices[1]!.stop();
  await eventually(async () =>
    expect(JSON.parse(await get('/readyz'))).toMatchObject({ status: 'ok', hsm: { 'hsm-1': 'unreachable' } }),
  );
  const broken = await run('hsm', 'status');
  expect(broken.exitCode).toBe(1);
  expect(broken.output).toMatch(/hsm device hsm-1: .* is unreachable.*\n +-> check host/);
  const { output } = await run('doctor');
  expect(output).toContain('hsm device hsm-0');
  expect(output).toMatch(/hsm device hsm-1: \S+ is unreachable/);
});

test('the inventory has every named key with its check value, and names those that the HSM refuses', async () => {
  const { output, exitCode } = await run('hsm', 'inventory', '--json');
  expect(exitCode).toBe(0);
  const keys = JSON.parse(output) as { keyId: string; kcv: string; usedBy: { usedBy: string; setting: string }[] }[];
  for (const { kcv } of keys) expect(kcv).toMatch(/^[0-9A-F]{6}$/);
  const usersOf = (wanted: string) =>
    keys.find(({ keyId }) => keyId === wanted)!.usedBy.map(({ usedBy, setting }) => `${usedBy}, ${setting}`);
  expect(usersOf('demo-mac-1')).toEqual([
    'processor 1 of acquirer 1, macKeys.0.keyId',
    'processor 1 of acquirer 2, macKeys.0.keyId',
  ]);
  expect(usersOf(DEMO_READER_KEY)).toEqual(['readers, READER_PIN_KEY']);

  const renamed = `jsonb_set(config, '{macKeys,0,keyId}', '"lost"')`;
  await installation.database.query(`update processors set config = ${renamed} where acquirer_id = 2`);
  const faulty = await run('hsm', 'inventory');
  expect(faulty.exitCode).toBe(1);
  expect(faulty.output).toMatch(
    /lost +installation +KEY_UNKNOWN +not registered +processor 1 of acquirer 2, macKeys\.0\.keyId/,
  );
});
