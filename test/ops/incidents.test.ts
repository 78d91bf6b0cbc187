import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { eventually } from '../support/eventually.ts';
import { type Installation, startInstallation } from '../support/installation.ts';
import { voidSale } from '../support/refunds.ts';
import { outcomeOf } from '../support/responses.ts';
import { tapwireHere } from '../support/run-here.ts';
import { stallOfHsm } from '../support/stalling-hsm.ts';

/**
 * Incidents at a running gateway, and the figures on which their alerts fire (alerts.test.ts has the rules). Each test
 * leaves its trouble behind.
 */
const HSM_MODULE = fileURLToPath(new URL('../support/stalling-hsm.ts', import.meta.url));

let installation: Installation;
beforeAll(async () => {
  installation = await startInstallation({
    settings: { HSM_MODULE, HSM_KEYS_FILE: undefined },
    config: { macKeys: [{ number: 1, keyId: 'demo-mac-1' }] },
  });
});
afterAll(async () => {
  stallOfHsm().failsWith = undefined;
  await installation.stop();
});

const run = (...args: string[]) => tapwireHere(args, installation.environment());
const tap = async (amount: string) => outcomeOf(await installation.phone().tap({ amount, currency: 'ZAR' }));

/** The value of a series; undefined if the gateway does not expose it. */
async function figure(name: string, labels: Readonly<Record<string, string>> = {}): Promise<number | undefined> {
  const text = await (await fetch(new URL('/metrics', installation.url))).text();
  const pairs = Object.entries(labels).map(([label, value]) => `${label}="${value}"`);
  const line = text
    .split('\n')
    .find((each) => /^[^{ ]*/.exec(each)![0] === name && pairs.every((pair) => each.includes(pair)));
  return line === undefined ? undefined : Number(line.split(' ').at(-1));
}

const PROCESSOR = { acquirer: '1', processor: '1' };

test('outcomes and declines have the labels of the connections, so that an alert names one switch', async () => {
  expect((await tap('10.91')).type).toBe('Declined');
  await eventually(async () => {
    expect(await figure('tapwire_declines_total', { code: '91', ...PROCESSOR })).toBe(1);
    expect(await figure('tapwire_outcomes_total', { disposition: 'Declined', ...PROCESSOR })).toBe(1);
    expect(await figure('tapwire_switch_connections', { state: 'ready', ...PROCESSOR })).toBeGreaterThan(0);
  });
});

test('a reversal that the switch does not acknowledge has an age, and none has one before', async () => {
  expect(await figure('tapwire_oldest_reversal_seconds', PROCESSOR)).toBeUndefined();
  const { serviceReference } = await tap('10.89'); // approved; two reversals stay without a response
  expect((await voidSale(installation, serviceReference)).status).toBe(202);
  await eventually(async () =>
    expect(await figure('tapwire_oldest_reversal_seconds', PROCESSOR)).toBeGreaterThanOrEqual(0),
  );
});

test('a key that vanishes from the HSM is counted, logged with its id, and a fault for the doctor', async () => {
  stallOfHsm().failsWith = 'KEY_UNKNOWN';
  const response = await tap('10.00');
  expect(response.type).toBe('UnableToGoOnline');
  await eventually(async () => expect(await figure('tapwire_switch_hsm_failures_total', PROCESSOR)).toBeGreaterThan(0));
  expect(installation.logLines).toContainEqual(
    expect.objectContaining({ msg: 'HSM call failed', keyId: 'demo-mac-1', code: 'KEY_UNKNOWN', processorId: 1 }),
  );
  stallOfHsm().failsWith = undefined;
});

test('a processor that names a key which the HSM lacks is a series, a line of the console, and a fault for the doctor', async () => {
  await installation.database.query(
    `update processors set config = jsonb_set(config, '{macKeys,0,keyId}', '"lost"'), updated_at = now() where acquirer_id = 2`,
  );
  await eventually(async () =>
    expect(await figure('tapwire_processor_unusable', { ...PROCESSOR, acquirer: '2' })).toBe(1),
  );
  await eventually(async () => {
    const { rows } = await installation.database.query<{
      figures: { switches: { name: string; availability: string }[] };
    }>('select figures from process_figures');
    const shown = rows.flatMap(({ figures }) => figures.switches ?? []);
    expect(shown).toContainEqual(expect.objectContaining({ name: '2 1', availability: 'unusable' }));
  });
  const { output } = await run('doctor');
  expect(output).toMatch(
    /processor 1 of acquirer 2 \(macKeys\.0\.keyId\): the HSM cannot use its key lost\s+\(KEY_UNKNOWN\)/,
  );
});

test('a restored database is a series until everything is released', async () => {
  expect(await figure('tapwire_held_references')).toBeUndefined();
  await run('restored', '--lost-from', new Date(Date.now() - 60_000).toISOString());
  await eventually(async () => expect(await figure('tapwire_held_references')).toBe(0));
  await run('restored', '--release', '--all');
  await eventually(async () => expect(await figure('tapwire_held_references')).toBeUndefined());
});
