import { expect, test } from 'vitest';
import { z } from 'zod';
import { Disposition } from '../../../src/payments/model/disposition.ts';
import { Status } from '../../../src/payments/model/status.ts';
import { ReversalState, TransactionType, type TransactionTypeId } from '../../../src/payments/model/transaction.ts';
import type { TransactionDependencies } from '../../../src/payments/ports/transaction-dependencies.ts';
import { type ReviewRules, Reviews } from '../../../src/payments/review/reviews.ts';
import { createCompletionCheck } from '../../../src/start/open-switches.ts';
import { sampleTransaction } from '../sample-transaction.ts';

const BY = { name: 'user one', userId: 'one', grant: null };

async function resolveAsApproved(type: TransactionTypeId, wantsCompletion: boolean): Promise<string | undefined> {
  const transaction = sampleTransaction({
    ...{ type, status: Status.RespondedToPhone, disposition: Disposition.Indeterminate, needsReview: true },
    ...{ reversalState: ReversalState.needsReview, reversalAttempt: 2 },
  });
  let outcome: string | undefined;
  const deps = {
    clock: { nowMs: () => 0 },
    newId: () => 'new',
    directory: { webhookEndpoint: () => undefined },
    store: { find: async () => transaction },
    refunds: { findVoid: async () => undefined },
    wakeups: { announce: () => {} },
  } as unknown as TransactionDependencies;
  const rules = {
    reviews: {
      findReviewFacts: async () => ({ lastSequence: null }),
      resolve: async (_: unknown, { to }: { to: { disposition: number } }) => {
        outcome = Object.entries(Disposition).find(([, id]) => id === to.disposition)?.[0];
        return true;
      },
    },
    needsTwo: false,
    wantsCompletion: () => wantsCompletion,
  } as unknown as ReviewRules;
  const { acquirerId, id, updatedAtMs } = transaction;
  const stated = {
    acquirerId,
    id,
    books: 'approved',
    reason: 'case',
    seenAt: new Date(updatedAtMs).toISOString(),
  } as const;
  await new Reviews(deps, rules).resolve(stated, BY);
  return outcome;
}

test.each([
  [TransactionType.Tap, 'RESOLUTION_NOT_COMPLETED'],
  [TransactionType.SecureCardReader, 'RESOLUTION_NOT_COMPLETED'],
  [TransactionType.Refund, 'Approved'],
  [TransactionType.TT3, 'Approved'],
] as const)('a transaction of type %i at a switch with completions that is resolved as approved: %s', async (type, expected) => {
  const resolving = resolveAsApproved(type, true).catch((error: { code?: string }) => error.code);
  expect(await resolving).toBe(expected);
  expect(await resolveAsApproved(type, false)).toBe('Approved');
});

test('the type of the processor says whether a switch wants completions, under any name, and what is unknown is not posted', () => {
  const configSchema = z.object({ posts: z.enum(['automatically', 'later']).default('later') });
  const completion = { isWanted: ({ posts }: { posts: string }) => posts === 'later' };
  const types = new Map([
    ['own', { configSchema, completion }],
    ['automatic', { configSchema }],
  ]) as unknown as Parameters<typeof createCompletionCheck>[0];
  const processor = (id: number, type: string, config: object) => ({ acquirerId: 1, id, type, config });
  const wantsCompletion = createCompletionCheck(types, {
    routes: () => [1, 2, 3, 4, 6].map((id) => ({ id: 100 * id, processorId: id })),
    processors: () => [
      processor(1, 'own', {}),
      processor(2, 'own', { posts: 'automatically' }),
      processor(3, 'automatic', { completion: true }),
      processor(4, 'own', { posts: 'never' }),
      processor(6, 'not installed', {}),
    ],
  } as unknown as Parameters<typeof createCompletionCheck>[1]);
  const responses = [100, 200, 300, 400, 500, 600].map((routeId) => wantsCompletion({ acquirerId: 1, routeId }));
  expect(responses).toEqual([true, false, false, true, true, true]);
});
