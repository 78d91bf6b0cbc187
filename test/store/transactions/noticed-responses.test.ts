import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { LateFacts } from '../../../src/payments/model/decision.ts';
import { Disposition } from '../../../src/payments/model/disposition.ts';
import { Status } from '../../../src/payments/model/status.ts';
import { ReversalState, type Transaction } from '../../../src/payments/model/transaction.ts';
import { lateStep } from '../../../src/payments/reversals/late-responses.ts';
import { saveAcquirer } from '../../../src/store/settings/tenants.ts';
import { PostgresTransactionStore } from '../../../src/store/transactions/transaction-store.ts';
import { createTestDatabase, type TestDatabase } from '../../support/test-database.ts';
import { sampleTransaction } from '../../transactions/sample-transaction.ts';
import { newAttempt } from './new-attempt.ts';
import { rememberJobs } from './remember-jobs.ts';

const { Approved, Indeterminate } = Disposition;
let testDatabase: TestDatabase;
let store: PostgresTransactionStore;
const { jobs } = rememberJobs();

beforeAll(async () => {
  testDatabase = await createTestDatabase();
  store = new PostgresTransactionStore(testDatabase.database, jobs, () => {});
  await saveAcquirer(testDatabase.database, 1, 'Acquirer');
});
afterAll(() => testDatabase.drop());

async function inReview(changes: Partial<Transaction>): Promise<Transaction> {
  const transaction = sampleTransaction({
    ...{ id: randomUUID(), merchantReference: randomUUID(), status: Status.RespondedToPhone, needsReview: true },
    ...changes,
  });
  await store.insert(newAttempt(transaction));
  return (await store.find(transaction))!;
}

async function record(request: Transaction, kind: LateFacts['kind']): Promise<void> {
  const late = { kind, responseCode: kind === 'approved' ? '00' : '05', authorizationCode: '' };
  const deps = { directory: { webhookEndpoint: () => undefined }, newId: randomUUID } as never;
  const rearm = lateStep(deps, request, late, Date.now());
  expect(await store.recordLate({ transaction: request, late, rearm, nowMs: Date.now() })).toBe('recorded');
}

test.each([
  ['a decline', 'declined', 2],
  ['an approval before the first reversal', 'approved', 0],
] as const)('%s changes the time of a row in review: what a person saw before no longer holds', async (_what, kind, made) => {
  const changes = { disposition: Indeterminate, reversalState: ReversalState.needsReview, reversalAttempt: made };
  const seen = await inReview(changes);
  await record(seen, kind);
  const after = (await store.find(seen))!;
  expect(after).toMatchObject({ ...changes, needsReview: true });
  expect(after.updatedAtMs).not.toBe(seen.updatedAtMs);
});

test('an approval of an earlier attempt changes the row as well', async () => {
  const seen = await inReview({ disposition: Approved, attempt: 2 });
  await testDatabase.database.query(
    `insert into superseded_attempts (acquirer_id, transaction_id, attempt, route_id, tid, stan, sent_at, reversal_state, reversal_attempt)
     values ($1, $2, 1, 100, 'TW000001', '000999', now(), ${ReversalState.needsReview}, 3)`,
    [seen.acquirerId, seen.id],
  );
  const earlier = (await store.findRequest({ acquirerId: seen.acquirerId, id: seen.id, attempt: 1 }))!;
  await record(earlier, 'approved');
  const after = (await store.find(seen))!;
  expect(after).toMatchObject({ disposition: Approved, needsReview: true, reversalState: ReversalState.none });
  expect(after.updatedAtMs).not.toBe(seen.updatedAtMs);
});
