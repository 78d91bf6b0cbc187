import { describe, expect, test } from 'vitest';
import type { Sabotage } from '../memory-store.ts';
import { CASES, saleOf } from './cases.ts';
import { compareSearches } from './compare-searches.ts';
import { exploreCase } from './explore-case.ts';
import { MANNERS } from './manners.ts';
import { faultsInTheEnd, replay } from './replay.ts';

/** Seconds, on a machine that does nothing else. `npm run explore` goes deeper. */
const DEPTHS: Readonly<Record<string, number>> = { sale: 4, 'sale and void': 5 };
const LEAST_DEPTH = 4;
const TIMEOUT_MS = 600_000;

test.each(CASES.map(({ name }) => name))(
  '%s: no order of deliveries, losses, duplicates, timeouts and crashes violates a rule',
  async (name) => {
    const depth = DEPTHS[name] ?? LEAST_DEPTH;
    const order = { name, depth, mostFaults: 1, mostViolations: 1, manners: MANNERS };
    const { violations, isComplete, states } = await exploreCase({ ...order, seconds: TIMEOUT_MS / 1_000 });
    expect(violations.map(({ history, faults }) => [...history, ...faults])).toEqual([]);
    expect(isComplete).toBe(true);
    expect(states).toBeGreaterThan(100);
  },
  TIMEOUT_MS,
);

test('an acknowledgement is a lie that excuses a second refund, if the refund is approved for the first time after it', async () => {
  const history = [
    'client: the merchant asks for refund of 10.00',
    'time passes, A works',
    'switch says 00 to request 3',
    'client: the merchant asks for second refund of 10.00',
    'switch books request 2, says 00',
  ];
  const explored = CASES.find(({ name }) => name === 'sale and two refunds')!;
  const execution = await replay(explored, history);
  expect(await faultsInTheEnd(execution, 'silent')).toEqual([]);
  const refund = execution.store.findByReference('refund');
  expect(refund?.needsReview).toBe(true);
});

test('an approval that died with its process before it was stored is not the first one', async () => {
  const history = [
    'client: the merchant asks for refund of 10.00',
    'time passes, A works',
    'switch books request 2, says 00',
    '  but 1 A takes 00 to request 2: recordLate does not happen, the process dies before',
    'switch says 00 to request 3',
    'client: the merchant asks for second refund of 10.00',
    'switch says 00 to request 2',
  ];
  const explored = CASES.find(({ name }) => name === 'sale and two refunds')!;
  const execution = await replay(explored, history);
  expect(await faultsInTheEnd(execution, 'silent')).toEqual([]);
  expect(execution.store.findByReference('refund')?.needsReview).toBe(true);
});

test('an acknowledgement counts from its commit: a refund that was sent before is fair, if the switch has refused the void twice', async () => {
  const history = [
    'client: the merchant voids the sale',
    'time passes, A works',
    'switch reverses by request 2, says 00',
    '  but 3 A works on reverse sale.1 1: stepReversal hangs',
    'switch says 25 to request 2',
    'time passes, A works',
    'switch says 25 to request 3',
    'client: the merchant asks for refund of 10.00',
  ];
  const explored = CASES.find(({ name }) => name === 'sale and void')!;
  const execution = await replay(explored, history);
  expect(await faultsInTheEnd(execution, 'strict')).toEqual([]);
  expect(saleOf(execution)?.needsReview).toBe(true);
});

describe('the reduction finds what the whole search finds', () => {
  test.each(CASES.map((explored) => [explored.name, explored] as const))(
    '%s: the same outcomes, and no violation',
    async (_name, explored) => {
      const { missed, added, faults, states } = await compareSearches(explored, { depth: 3, mostFaults: 1 });
      expect({ missed, added, faults }).toEqual({ missed: [], added: [], faults: [] });
      expect(states.reduced).toBeLessThan(states.whole);
    },
    TIMEOUT_MS,
  );

  test.each<[Sabotage, string]>([
    ['no outcome guard', 'sale with PIN'],
    ['no reversal guard', 'sale and refund'],
    ['forgets reverse jobs', 'sale and void'],
    ['takes a reference twice', 'sale'],
    ['forgets expire-pin jobs', 'sale with PIN'],
    ['reserves too much', 'sale and two refunds'],
    ['voids what was refunded', 'sale and refund'],
    ['keeps reservations', 'sale and two refunds'],
  ])(
    'a database that %s (%s): the same violations and outcomes',
    async (sabotage, name) => {
      const explored = CASES.find((each) => each.name === name)!;
      const { missed, added, faults } = await compareSearches(explored, { depth: 3, mostFaults: 1, sabotage });
      expect({ missed, added }).toEqual({ missed: [], added: [] });
      expect(faults).not.toEqual([]);
    },
    TIMEOUT_MS,
  );
});
