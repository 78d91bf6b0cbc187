import { afterEach, expect, test } from 'vitest';
import { configSchema } from '../../processors/type-1/config.ts';
import type1 from '../../processors/type-1/index.ts';
import type { FaultRates } from '../../src/tools/simulator/faults.ts';
import { type Simulator, startSimulator } from '../../src/tools/simulator/start-simulator.ts';
import { eventually } from '../support/eventually.ts';
import { Acquirer } from './support.ts';

let simulator: Simulator;
let acquirer: Acquirer;

async function start(faults: FaultRates, seed = 1, latency?: string): Promise<void> {
  simulator = await startSimulator({
    processors: [{ processor: type1, port: 0, deadlineMs: 50 }],
    timeScale: 0.01,
    faults,
    seed,
    latency,
  });
  const addresses = [{ host: '127.0.0.1', port: simulator.ports[0]! }];
  acquirer = new Acquirer(type1, configSchema.parse({ ...type1.exampleConfig, addresses }));
}

afterEach(async () => {
  acquirer.pool.destroy();
  await simulator.close();
});

test('a dropped response leaves an approval that was never reported', async () => {
  await start({ drop: 1 });
  expect((await acquirer.tap(10_00, 50)).result).toMatchObject({ kind: 'failed', reason: 'deadline' });
  expect(simulator.ledger.totals().approved).toBe(1);
});

test('a late response arrives after the acquirer’s deadline', async () => {
  await start({ late: 1 });
  expect((await acquirer.tap(10_00, 50)).result).toMatchObject({ kind: 'failed', reason: 'deadline' });
  expect(await acquirer.nextUnmatched()).toMatchObject({ kind: 'late' });
});

test('a duplicated response arrives twice', async () => {
  await start({ duplicate: 1 });
  expect((await acquirer.tap(10_00)).outcome).toMatchObject({ kind: 'approved' });
  expect(await acquirer.nextUnmatched()).toMatchObject({ kind: 'duplicate' });
});

test('a garbled response is a bad message', async () => {
  await start({ garble: 1 });
  expect((await acquirer.tap(10_00, 50)).result).toMatchObject({ kind: 'failed' });
  await eventually(() => expect(acquirer.pool.stats.badMessages).toBe(1));
});

test('a dropped connection loses the response', async () => {
  await start({ disconnect: 1 });
  expect((await acquirer.tap(10_00)).result).toMatchObject({ kind: 'failed', written: true, reason: 'connectionLost' });
});

test('a declined tap books nothing', async () => {
  await start({ decline: 1 });
  expect((await acquirer.tap(10_00)).outcome).toMatchObject({ kind: 'declined', responseCode: '05' });
  expect(simulator.ledger.totals().approved).toBe(0);
});

test('responses have the configured latency', async () => {
  await start({}, 1, '30ms');
  const { result } = await acquirer.tap(10_00);
  expect(result.kind === 'responded' && result.roundTripMs).toBeGreaterThanOrEqual(29);
});

test('one seed repeats the same faults, another gives different ones', async () => {
  const run = async (seed: number) => {
    await start({ decline: 0.5 }, seed);
    const kinds: (string | undefined)[] = [];
    for (let tap = 0; tap < 24; tap++) kinds.push((await acquirer.tap(10_00)).outcome?.kind);
    acquirer.pool.destroy();
    await simulator.close();
    return kinds.join(' ');
  };
  const first = await run(7);
  expect(await run(7)).toBe(first);
  expect(await run(8)).not.toBe(first);
  expect(first).toContain('approved');
  expect(first).toContain('declined');
});
