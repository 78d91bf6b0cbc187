import { expect, test } from 'vitest';
import { CASES, saleOf } from './cases.ts';
import { exploreCase } from './explore-case.ts';
import { POLICIES } from './policies.ts';
import { faultsInTheEnd, replay } from './replay.ts';

/** `npm run test:searches` goes deeper, and `npm run explore` deeper still. */
const DEPTH = 3;
const TIMEOUT_MS = 600_000;

test.each(CASES.map(({ name }) => name))(
  '%s: no order of deliveries, losses, duplicates, timeouts and crashes violates a rule',
  async (name) => {
    const order = { name, depth: DEPTH, mostFaults: 1, mostViolations: 1, policies: POLICIES };
    const { violations, isComplete, states } = await exploreCase({ ...order, seconds: TIMEOUT_MS / 1_000 });
    expect(violations.map(({ history, faults }) => [...history, ...faults])).toEqual([]);
    expect(isComplete).toBe(true);
    expect(states).toBeGreaterThan(50);
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
