import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { Status } from '../../../src/payments/model/status.ts';
import type { NewAttempt } from '../../../src/payments/ports/store-ports.ts';
import { PostgresTransactionStore } from '../../../src/store/transactions/transaction-store.ts';
import { failOnBug } from '../../support/fail-on-bug.ts';
import { createTestDatabase, type TestDatabase } from '../../support/test-database.ts';
import { sampleTransaction } from '../../transactions/sample-transaction.ts';
import { rememberJobs } from './remember-jobs.ts';

let testDatabase: TestDatabase;
let store: PostgresTransactionStore;
const { jobs, enqueued, removed, forget } = rememberJobs();
beforeAll(async () => {
  testDatabase = await createTestDatabase();
});
beforeEach(() => {
  forget();
  store = new PostgresTransactionStore(testDatabase.database, jobs, failOnBug);
});
afterAll(() => testDatabase.drop());

function tapDueAfter(startAfterSeconds: number, merchantReference: string = randomUUID()): NewAttempt {
  const overdueJob = randomUUID();
  const transaction = sampleTransaction({
    id: randomUUID(),
    merchantReference,
    status: Status.SubmittedToPaymentProcessor,
    overdueJob,
  });
  const { acquirerId, id, attempt } = transaction;
  const data = { acquirerId, id, attempt };
  return {
    transaction,
    auditEntries: [],
    enqueue: [{ queue: 'overdue', id: overdueJob, data, startAfterSeconds }],
    respondBySeconds: 45,
    pinSeconds: null,
    handover: null,
  };
}

/** Inserts in one batch: they are submitted in one turn of the event loop. */
function insert(taps: readonly NewAttempt[]): Promise<unknown[]> {
  return Promise.all(taps.map((tap) => store.insert(tap)));
}

async function respondTo({ transaction }: NewAttempt): Promise<void> {
  const { acquirerId, id, attempt, status: fromStatus, overdueJob } = transaction;
  const status = Status.RespondedToPhone;
  await store.recordOverdueResponse({ acquirerId, id, attempt, fromStatus, status, auditEntries: [], overdueJob });
}

function namesOf(taps: readonly NewAttempt[]) {
  return taps.map(({ transaction: { id, attempt } }) => ({ id, attempt }));
}

/** Orders names in the order of the batch, which is that of its keys. */
function anyOrder(names: readonly { readonly id: string }[]) {
  return expect.toSatisfy((given: typeof names) => {
    const ids = (of: typeof names) => of.map(({ id }) => id).sort();
    return JSON.stringify(ids(given)) === JSON.stringify(ids(names));
  });
}

test('taps of one commit with one deadline share a job, which is removed when the last of them receives a response', async () => {
  const taps = [tapDueAfter(35), tapDueAfter(35), tapDueAfter(35)];
  await insert(taps);
  expect(enqueued).toEqual([
    {
      queue: 'overdue-taps',
      id: expect.any(String),
      data: { acquirerId: 1, taps: anyOrder(namesOf(taps)) },
      startAfterSeconds: 35,
    },
  ]);
  await respondTo(taps[0]!);
  await respondTo(taps[1]!);
  await respondTo(taps[1]!); // a repeated record
  expect(removed.filter(([queue]) => queue === 'overdue-taps')).toEqual([]);
  await respondTo(taps[2]!);
  expect(removed.filter(([queue]) => queue === 'overdue-taps')).toEqual([['overdue-taps', enqueued[0]!.id]]);
});

test('a tap with another deadline, and one alone, keep their own jobs', async () => {
  const [alone, ...pair] = [tapDueAfter(20), tapDueAfter(35), tapDueAfter(35)];
  await insert([alone, ...pair]);
  expect(enqueued.map(({ queue }) => queue).sort()).toEqual(['overdue', 'overdue-taps']);
  await respondTo(alone);
  expect(removed).toEqual([['overdue', alone.transaction.overdueJob]]);
});

test('a tap that is not inserted leaves the job to the others, and is not waited for', async () => {
  const reference = randomUUID();
  await insert([tapDueAfter(35, reference)]);
  forget();
  const repeated = tapDueAfter(35, reference);
  const taps = [tapDueAfter(35), tapDueAfter(35)];
  expect(await insert([...taps, repeated])).toEqual(['inserted', 'inserted', 'exists']);
  expect(removed).toEqual([]);
  for (const tap of taps) await respondTo(tap);
  expect(removed).toEqual([['overdue-taps', enqueued[0]!.id]]);
});

test('the job is removed in the same commit if no tap is inserted', async () => {
  const references = [randomUUID(), randomUUID()];
  await insert(references.map((reference) => tapDueAfter(35, reference)));
  forget();
  expect(await insert(references.map((reference) => tapDueAfter(35, reference)))).toEqual(['exists', 'exists']);
  expect(removed).toEqual([['overdue-taps', enqueued[0]!.id]]);
});

test('the job remains if the response to one of its taps could not be recorded', async () => {
  const [lost, responded] = [tapDueAfter(35), tapDueAfter(35)];
  await insert([lost, responded]);
  const { acquirerId, id, attempt, status: fromStatus, overdueJob } = lost.transaction;
  const refused = { acquirerId, id, attempt, fromStatus, status: 99 as never, auditEntries: [], overdueJob };
  await expect(store.recordOverdueResponse(refused)).rejects.toThrow('check constraint');
  await respondTo(responded);
  expect(removed.map(([queue]) => queue)).not.toContain('overdue-taps');
  await respondTo(lost);
  expect(removed.at(-1)).toEqual(['overdue-taps', enqueued[0]!.id]);
});

test('a process that did not insert the taps removes no job that others may need', async () => {
  const taps = [tapDueAfter(35), tapDueAfter(35)];
  await insert(taps);
  const other = new PostgresTransactionStore(testDatabase.database, jobs, failOnBug);
  const [{ transaction }] = taps as [NewAttempt];
  const { acquirerId, id, attempt, status: fromStatus, overdueJob } = transaction;
  const record = { acquirerId, id, attempt, fromStatus, status: Status.RespondedToPhone, auditEntries: [], overdueJob };
  await other.recordOverdueResponse(record);
  expect(removed.map(([queue]) => queue)).not.toContain('overdue-taps');
});

test('a tap that is alone after its batch was refused has its own job again', async () => {
  const [tap, refused] = [tapDueAfter(35), tapDueAfter(35, 'a\u0000b')];
  const outcomes = await Promise.allSettled([tap, refused].map((it) => store.insert(it)));
  expect(outcomes.map(({ status }) => status)).toEqual(['fulfilled', 'rejected']);
  expect(enqueued).toContainEqual(tap.enqueue[0]);
  await respondTo(tap);
  expect(removed).toEqual([['overdue', tap.transaction.overdueJob]]);
});

test('the job stays if the database lost a record of a response that was not flushed', async () => {
  const taps = [tapDueAfter(35), tapDueAfter(35)];
  await insert(taps);
  await respondTo(taps[0]!);
  await testDatabase.database.query('update transactions set status = 4 where id = $1', [taps[0]!.transaction.id]);
  await respondTo(taps[1]!);
  expect(removed.map(([queue]) => queue)).not.toContain('overdue-taps');
});
