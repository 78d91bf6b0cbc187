import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { configSchema } from '../../processors/type-1/config.ts';
import type1 from '../../processors/type-1/index.ts';
import { type Simulator, type SimulatorEvent, startSimulator } from '../../src/tools/simulator/start-simulator.ts';
import { Acquirer } from './support.ts';

const processor = type1;
let events: SimulatorEvent[];
let simulator: Simulator;
let acquirer: Acquirer;

/** A deadline of 400 ms, and scenario times scaled to a hundredth: 10 s become 100 ms. */
const config = (port: number) =>
  configSchema.parse({
    ...type1.exampleConfig,
    addresses: [{ host: '127.0.0.1', port }],
    profile: { deadlineMs: 400, partialApproval: true },
  });

beforeEach(async () => {
  events = [];
  simulator = await startSimulator({
    processors: [{ processor, config: config(1), port: 0 }],
    timeScale: 0.01,
    ledgerPort: 0,
    onEvent: (event) => events.push(event),
  });
  acquirer = new Acquirer(processor, config(simulator.ports[0]!));
});

afterEach(async () => {
  acquirer.pool.destroy();
  await simulator.close();
});

async function ledger(query = '') {
  const response = await fetch(`http://127.0.0.1:${simulator.ledgerPort}/ledger${query}`);
  return (await response.json()) as {
    totals: { approved: number; approvedMinor: number; reversed: number; orphanReversals: number };
    entries: { amountMinor: number; state: string; stan: string; reversals: number }[];
  };
}

describe('a tap through a pool, by amount', () => {
  test('a whole amount is approved and recorded in the ledger', async () => {
    const { outcome } = await acquirer.tap(10_00);
    expect(outcome).toMatchObject({ kind: 'approved', approvedMinor: 10_00, responseCode: '00' });
    expect(await ledger()).toMatchObject({ totals: { approved: 1, approvedMinor: 10_00 } });
  });

  test.each(['51', '91', '05', '54'])('x.%s is declined with that code and not booked', async (code) => {
    const { outcome } = await acquirer.tap(10_00 + Number(code));
    expect(outcome).toMatchObject({ kind: 'declined', responseCode: code });
    expect(simulator.ledger.totals().approved).toBe(0);
  });

  test.each([50_05, 12_65])('%i requires a PIN', async (amountMinor) => {
    const { outcome } = await acquirer.tap(amountMinor);
    expect(outcome).toMatchObject({ kind: 'pinRequired', responseCode: '70' });
  });

  test('x.69 receives no response, and what it booked is reversed', async () => {
    const { request, result } = await acquirer.tap(12_69, 100);
    expect(result).toMatchObject({ kind: 'failed', written: true, reason: 'deadline' });
    expect(simulator.ledger.totals().approved).toBe(1);
    expect(await acquirer.reverse(request)).toBe('acknowledged');
    expect(await ledger()).toMatchObject({ totals: { approved: 0, reversed: 1 } });
  });

  test('x.68 is approved after the deadline: the pool reports it as late', async () => {
    const { result } = await acquirer.tap(12_68, 400);
    expect(result).toMatchObject({ kind: 'failed', reason: 'deadline' });
    expect(await acquirer.nextUnmatched()).toMatchObject({ kind: 'late', response: { responseCode: '00' } });
  });

  test('10.10 receives its response after its delay', async () => {
    const { outcome, result } = await acquirer.tap(10_10);
    expect(outcome).toMatchObject({ kind: 'approved' });
    expect(result.kind === 'responded' && result.roundTripMs).toBeGreaterThan(90);
  });

  test('x.97 responds with a frame that is not a message: the connection remains, the tap times out', async () => {
    const { result } = await acquirer.tap(12_97, 100);
    expect(result).toMatchObject({ kind: 'failed', written: true, reason: 'deadline' });
    expect((await acquirer.tap(10_00)).outcome).toMatchObject({ kind: 'approved' });
    expect(acquirer.pool.stats).toMatchObject({ badMessages: 1, reconnects: 0 });
  });

  test('x.98 drops the connection within its response', async () => {
    const { result } = await acquirer.tap(12_98);
    expect(result).toMatchObject({ kind: 'failed', written: true, reason: 'connectionLost' });
    await expect.poll(() => acquirer.pool.availability).toBe('ready');
    expect((await acquirer.tap(10_00)).outcome).toMatchObject({ kind: 'approved' });
  });

  test('x.99 receives a response twice: one response counts', async () => {
    expect((await acquirer.tap(12_99)).outcome).toMatchObject({ kind: 'approved' });
    expect(await acquirer.nextUnmatched()).toMatchObject({ kind: 'duplicate' });
    expect(simulator.ledger.totals().approved).toBe(1);
  });

  test('x.89 is approved, and its first two reversals receive no response', async () => {
    const { request, outcome } = await acquirer.tap(12_89);
    expect(outcome).toMatchObject({ kind: 'approved' });
    expect(await acquirer.reverse(request, 1, 50)).toBe('failed');
    expect(await acquirer.reverse(request, 2, 50)).toBe('failed');
    expect(await acquirer.reverse(request, 3)).toBe('acknowledged');
    expect(await ledger()).toMatchObject({ entries: [{ state: 'reversed', reversals: 3 }] });
  });

  test('x.88 is response with another amount, which is not an approval', async () => {
    expect((await acquirer.tap(12_88)).outcome).toMatchObject({
      kind: 'unknown',
      why: 'amount differs from the request',
    });
  });

  test('x.87 receives a response with another STAN, which matches nothing', async () => {
    const { result } = await acquirer.tap(12_87, 100);
    expect(result).toMatchObject({ kind: 'failed', reason: 'deadline' });
    expect(await acquirer.nextUnmatched()).toMatchObject({ kind: 'unknown' });
  });

  test('x.86 carries a MAC that no key can verify, so it is not an approval', async () => {
    expect((await acquirer.tap(12_86)).outcome).toMatchObject({ kind: 'unknown', why: 'MAC unverifiable' });
  });

  test('x.85 is approved for half', async () => {
    expect((await acquirer.tap(12_85)).outcome).toMatchObject({ kind: 'approved', approvedMinor: 6_42 });
    expect(simulator.ledger.totals().approvedMinor).toBe(6_42);
  });

  test('503.00 is approved, then the switch is unavailable for a while, then it is back', async () => {
    expect((await acquirer.tap(503_00)).outcome).toMatchObject({ kind: 'approved' });
    await expect.poll(() => acquirer.pool.availability).not.toBe('ready');
    await expect.poll(() => events.map(({ event }) => event)).toContain('recovered');
    await expect.poll(() => acquirer.pool.availability).toBe('ready');
    expect((await acquirer.tap(10_00)).outcome).toMatchObject({ kind: 'approved' });
  });
});

test('a reversal of something unknown receives 25 and is recorded in the ledger', async () => {
  const { request } = await acquirer.tap(12_51);
  expect(await acquirer.reverse(request)).toBe('unableToLocate');
  expect(await ledger()).toMatchObject({ totals: { orphanReversals: 1 } });
});

test('a reversal may be repeated; it moves the money once', async () => {
  const { request } = await acquirer.tap(10_00);
  expect(await acquirer.reverse(request, 1)).toBe('acknowledged');
  expect(await acquirer.reverse(request, 2)).toBe('acknowledged');
  expect(simulator.ledger.totals()).toMatchObject({ approved: 0, reversed: 1 });
});

test('the ledger can be filtered by query, and nothing else is served beside it', async () => {
  await acquirer.tap(10_00);
  const { request } = await acquirer.tap(20_00);
  await acquirer.reverse(request);
  expect((await ledger('?state=approved')).entries).toMatchObject([{ amountMinor: 10_00 }]);
  expect((await ledger(`?stan=${String(request.stan)}`)).entries).toMatchObject([{ amountMinor: 20_00 }]);
  const other = await fetch(`http://127.0.0.1:${simulator.ledgerPort}/other`);
  expect(other.status).toBe(404);
  expect((await fetch(`http://127.0.0.1:${simulator.ledgerPort}/ledger`, { method: 'POST' })).status).toBe(405);
});

test('a port in use is named', async () => {
  const again = startSimulator({ processors: [{ processor, port: simulator.ports[0]! }] });
  await expect(again).rejects.toMatchObject({ code: 'PORT_TAKEN' });
});

test('the switch initiates requests: an echo and a cut-over are accepted on every connection', async () => {
  await acquirer.tap(10_00);
  expect(await simulator.ask('echo')).toBe(1);
  expect(await simulator.ask('cutOver')).toBe(1);
});

test('the settlement date is that of the switch: the next day from its cut-over on', async () => {
  const settled = async () => {
    const { result } = await acquirer.tap(10_00);
    return result.kind === 'responded' ? String(result.response.settlementDate) : result.kind;
  };
  const before = await settled();
  await simulator.ask('cutOver');
  const [month, day] = [Number(before.slice(0, 2)), Number(before.slice(2))];
  const next = new Date(Date.UTC(new Date().getUTCFullYear(), month - 1, day + 1)).toISOString();
  expect(await settled()).toBe(`${next.slice(5, 7)}${next.slice(8, 10)}`);
});

test('a connection that the switch signs off is signed on again, and no tap is declined for it', async () => {
  await acquirer.tap(10_00);
  expect(await simulator.ask('signOff')).toBe(1);
  expect((await acquirer.tap(10_00)).outcome).toMatchObject({ kind: 'approved' });
  expect(simulator.counters()).toMatchObject([{ network: 2, refused: 0, lines: 1 }]);
});

test('a connection that closes has accepted nothing', async () => {
  await acquirer.tap(10_00);
  acquirer.pool.destroy();
  expect(await simulator.ask('echo')).toBe(0);
});
