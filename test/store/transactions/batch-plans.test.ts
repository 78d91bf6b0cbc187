import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type1 from '../../../processors/type-1/index.ts';
import { sentStep } from '../../../src/payments/decisions/reversal-steps.ts';
import { Status } from '../../../src/payments/model/status.ts';
import type { Transaction } from '../../../src/payments/model/transaction.ts';
import { type Database, openAlike } from '../../../src/store/postgres/open-database.ts';
import { PostgresTransactionStore } from '../../../src/store/transactions/transaction-store.ts';
import { failOnBug } from '../../support/fail-on-bug.ts';
import { createTestDatabase, type TestDatabase } from '../../support/test-database.ts';
import { sampleTransaction } from '../../transactions/sample-transaction.ts';
import { newAttempt } from './new-attempt.ts';
import { rememberJobs } from './remember-jobs.ts';

/** More than the first milestone. */
const TAPS = 1_100;

let testDatabase: TestDatabase;
/** With one connection, because each connection makes its own plans. */
let database: Database;
let store: PostgresTransactionStore;
describe.each([
  { sessions: 'sessions that run only batches', runsBatches: true },
  { sessions: 'sessions that run other statements as well', runsBatches: false },
])('in $sessions', ({ runsBatches }) => {
  beforeAll(async () => {
    testDatabase = await createTestDatabase();
    database = openAlike(testDatabase.database, { maxConnections: 1, runsBatches });
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
    await expect.poll(() => isAnalyzed('transactions')).toBe(true);

    await respondTo([await insert()]); // plans it again, with the settings of a batch
    const plan = await planOf('record-responses');
    expect(plan).not.toContain('Seq Scan');
    expect(plan).toContain('Index Scan using transactions_default_pkey on transactions_default');
    expect(plan).toContain('Index Cond: ((acquirer_id = x."acquirerId") AND (id = x.id))');
    expect(plan).toContain('Index Scan using open_attempts_pkey on open_attempts o');
  });

  test('a table of reversals that was analyzed while it was empty is analyzed again as it grows', async () => {
    await database.query('analyze');
    const transactions = await Promise.all(Array.from({ length: 110 }, insertUncertain));
    await reverse(transactions.slice(0, 1)); // plans the statement while the table is empty
    await reverse(transactions.slice(1));
    await expect.poll(() => isAnalyzed('reversal_attempts')).toBe(true);

    const plan = await planOf('commit-reversals');
    const condition = '((acquirer_id = x."acquirerId") AND (transaction_id = x.id) AND (attempt = x.attempt))';
    const lines = plan.split('\n').map((line) => line.trim());
    const scans = lines.flatMap((line, n) => (line.endsWith('on reversal_attempts a') ? [[line, lines[n + 1]]] : []));
    expect(scans.length).toBeGreaterThan(0);
    for (const [, searched] of scans) expect(searched).toContain(condition.slice(1, -2));
  });
});

async function insertUncertain(): Promise<Transaction> {
  const transaction = await insert();
  const uncertain = { ...transaction, tid: 'B0000001', stan: '000001', rrn: '000000000001', reversalState: 1 } as const;
  await database.query(
    `update transactions set reversal_state = 1, disposition = 4, tid = $3, stan = $4, rrn = $5
     where acquirer_id = $1 and id = $2`,
    [transaction.acquirerId, transaction.id, uncertain.tid, uncertain.stan, uncertain.rrn],
  );
  return (await store.find(uncertain))!;
}

/** Records the first attempt of each reversal. */
async function reverse(transactions: readonly Transaction[]): Promise<void> {
  const nowMs = Date.now();
  const sentAtMs = Math.floor(nowMs / 1_000) * 1_000;
  const steps = transactions.map((transaction) =>
    sentStep(
      transaction,
      {
        number: 1,
        stan: transaction.stan!,
        processorId: 1,
        couldOvertake: false,
        nextJob: randomUUID(),
        nowMs,
        sentAtMs,
      },
      0,
      type1.profile,
    ),
  );
  expect(await Promise.all(steps.map((step) => store.stepReversal(step)))).not.toContain(false);
}

async function insert(): Promise<Transaction> {
  const transaction = sampleTransaction({
    id: randomUUID(),
    merchantReference: randomUUID(),
    status: Status.ResponseReceivedFromPaymentProcessor,
  });
  expect(await store.insert(newAttempt(transaction, { overdueSeconds: 60 }))).toBe('inserted');
  return transaction;
}

async function respondTo(taps: readonly Transaction[]): Promise<void> {
  const responses = taps.map(({ acquirerId, id, attempt, status }) =>
    store.recordOverdueResponse({
      acquirerId,
      id,
      attempt,
      fromStatus: status,
      status: Status.RespondedToPhone,
      auditEntries: [],
    }),
  );
  await Promise.all(responses);
}

async function isAnalyzed(table: string): Promise<boolean> {
  const { rows } = await database.query('select from pg_stats where tablename = $1 limit 1', [table]);
  return rows.length === 1;
}

/** The plan that the connection has made for a prepared statement. */
async function planOf(name: string): Promise<string> {
  const known = `select cardinality(parameter_types) as parameters from pg_prepared_statements where name = $1`;
  const { rows: statements } = await database.query<{ parameters: number }>(known, [name]);
  const nulls = Array.from({ length: statements[0]!.parameters }, () => 'null').join();
  await database.query('set plan_cache_mode = force_generic_plan');
  const { rows } = await database.query(`explain (costs off) execute "${name}"(${nulls})`);
  return rows.map((row) => row['QUERY PLAN']).join('\n');
}
