import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { JobTable } from '../../../src/jobs/job-table.ts';
import { inTransaction } from '../../../src/store/postgres/group-commit.ts';
import { PostgresPromptDeliveries } from '../../../src/store/webhooks/prompt-deliveries.ts';
import type { FirstDelivery } from '../../../src/webhooks/ports.ts';
import { failOnBug } from '../../support/fail-on-bug.ts';
import { createTestDatabase, type TestDatabase } from '../../support/test-database.ts';

let testDatabase: TestDatabase;
let jobs: JobTable;
let store: PostgresPromptDeliveries;
beforeAll(async () => {
  testDatabase = await createTestDatabase();
  jobs = await JobTable.open(testDatabase.database, failOnBug);
  store = new PostgresPromptDeliveries(testDatabase.database, jobs, () => '');
});
afterAll(async () => {
  await jobs.close();
  await testDatabase.drop();
});

/** The job of an event that was just committed. */
async function insertJob(): Promise<FirstDelivery> {
  const [jobId, eventId, endpointId] = [randomUUID(), randomUUID(), randomUUID()];
  const data = { acquirerId: 1, eventId, endpointId, round: 1, delivery: 1 };
  await inTransaction(testDatabase.database, (client) =>
    jobs.enqueue(client, [{ queue: 'webhook', id: jobId, data, startAfterSeconds: 10 }]),
  );
  return { jobId, job: data } as unknown as FirstDelivery;
}

async function isDue({ jobId }: FirstDelivery): Promise<boolean> {
  const text = `select state = 'created' and start_after <= now() as due from pgboss.job where name = 'webhook' and id = $1`;
  return (await testDatabase.database.query<{ due: boolean }>(text, [jobId])).rows[0]!.due;
}

const take = ({ jobId }: FirstDelivery) =>
  testDatabase.database.query(`update pgboss.job set state = 'active', started_on = now() where id = $1`, [jobId]);

test('a job that waits is left to the next process that looks', async () => {
  const first = await insertJob();
  expect(await isDue(first)).toBe(false);
  await store.leave(first, false);
  expect(await isDue(first)).toBe(true);
});

test('a claimed job is left, and one that another process has taken stays with it', async () => {
  const [own, taken] = [await insertJob(), await insertJob()];
  await take(own);
  await take(taken);
  await Promise.all([store.leave(own, true), store.leave(taken, false)]);
  expect([await isDue(own), await isDue(taken)]).toEqual([true, false]);
});

test('a job whose claim lapsed stays with the process that took it over', async () => {
  const first = await insertJob();
  await take(first);
  await testDatabase.database.query('update pgboss.job set retry_count = 1 where id = $1', [first.jobId]);
  await store.leave(first, true);
  expect(await isDue(first)).toBe(false);
});
