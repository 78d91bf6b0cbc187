import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Database, openAlike } from '../../../src/store/postgres/open-database.ts';
import { PostgresTransactionStore } from '../../../src/store/transactions/transaction-store.ts';
import { Status } from '../../../src/transactions/model/status.ts';
import type { Transaction } from '../../../src/transactions/model/transaction.ts';
import { failOnBug } from '../../support/fail-on-bug.ts';
import { createTestDatabase, type TestDatabase } from '../../support/test-database.ts';
import { sampleTransaction } from '../../transactions/sample-transaction.ts';
import { rememberJobs } from './remember-jobs.ts';

/** More than the first milestone. */
const TAPS = 1_100;

let testDatabase: TestDatabase;
/** With one connection, because each connection makes its own plans. */
let database: Database;
let store: PostgresTransactionStore;
beforeAll(async () => {
  testDatabase = await createTestDatabase();
  database = openAlike(testDatabase.database, { maxConnections: 1 });
  store = new PostgresTransactionStore(database, rememberJobs().jobs, failOnBug);
});
afterAll(async () => {
  await store.close();
  await database.end();
  await testDatabase.drop();
});

test('a new table is analyzed as it grows, and batches then search transactions by key', async () => {
  await respondTo([await insert()]); // plans the statement while the table has one page
  await Promise.all(Array.from({ length: TAPS }, insert));
  await expect.poll(isAnalyzed).toBe(true);

  const plan = await planOf('record-answers', 6);
  expect(plan).toContain('Index Scan using transactions_pkey on transactions');
  expect(plan).toContain('Index Cond: ((acquirer_id = x."acquirerId") AND (id = x.id))');
});

async function insert(): Promise<Transaction> {
  const transaction = sampleTransaction({
    id: randomUUID(),
    merchantReference: randomUUID(),
    status: Status.ResponseReceivedFromPaymentProcessor,
  });
  const attempt = { transaction, auditEntries: [], enqueue: [], answerBySeconds: 45, pinSeconds: null, handover: null };
  expect(await store.insert(attempt)).toBe('inserted');
  return transaction;
}

async function respondTo(taps: readonly Transaction[]): Promise<void> {
  const responses = taps.map(({ acquirerId, id, attempt, status }) =>
    store.recordOverdueAnswer({
      acquirerId,
      id,
      attempt,
      fromStatus: status,
      status: Status.RespondedToPhone,
      auditEntries: [],
      overdueJob: null,
    }),
  );
  await Promise.all(responses);
}

async function isAnalyzed(): Promise<boolean> {
  const { rows } = await database.query(`select from pg_stats where tablename = 'transactions' limit 1`);
  return rows.length === 1;
}

/** The plan that the connection has made for a prepared statement. */
async function planOf(name: string, parameters: number): Promise<string> {
  const nulls = Array.from({ length: parameters }, () => 'null').join();
  await database.query('set plan_cache_mode = force_generic_plan');
  const { rows } = await database.query(`explain execute "${name}"(${nulls})`);
  return rows.map((row) => row['QUERY PLAN']).join('\n');
}
