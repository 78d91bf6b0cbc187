import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { JobTable } from '../../src/jobs/job-table.ts';
import { type DeadLetter, listDeadLetters, queueFigures, WORK_NAMES } from '../../src/jobs/queues.ts';
import { failOnBug } from '../support/fail-on-bug.ts';
import { tapwireHere } from '../support/run-here.ts';
import { createTestDatabase, type TestDatabase } from '../support/test-database.ts';

let testDatabase: TestDatabase;
let jobs: JobTable;
beforeAll(async () => {
  testDatabase = await createTestDatabase();
  jobs = await JobTable.open(testDatabase.database, failOnBug);
});
afterAll(async () => {
  await jobs.close();
  await testDatabase.drop();
});

const PAN = '4111111111111111';
const payload = () => ({ acquirerId: 7, id: randomUUID(), attempt: 2 });

function tapwireJobs(...args: string[]) {
  return tapwireHere(['jobs', ...args], { DATABASE_URL: testDatabase.url });
}

/** Puts a job among the dead letters, as a pump does that cannot read it. */
async function die(
  queue: 'expire-pin' | 'authorize',
  data: object,
  reason = 'attempt: too small',
): Promise<DeadLetter> {
  await jobs.boss.send(queue, data);
  const [taken] = await jobs.boss.fetch(queue, { includeMetadata: true });
  await jobs.giveUp(queue, { id: taken!.id, retryCount: taken!.retryCount }, reason);
  return (await listDeadLetters(testDatabase.database, queue))[0]!;
}

async function figuresOf(queue: string) {
  return (await queueFigures(testDatabase.database)).find((each) => each.queue === queue)!;
}

test('every queue is shown with its due, later, active and retried jobs, and the age of the oldest due one', async () => {
  expect((await queueFigures(testDatabase.database)).map(({ queue }) => queue)).toEqual(WORK_NAMES);
  await jobs.boss.insert('reverse', [{ data: {} }, { data: {} }, { data: {} }, { data: {}, startAfter: 3_600 }]);
  const [taken, failed] = await jobs.boss.fetch('reverse', { batchSize: 2, includeMetadata: true });
  await jobs.boss.fail('reverse', { id: failed!.id, retryCount: failed!.retryCount }, { reason: 'StoreUnavailable' });
  await testDatabase.database.query(
    `update pgboss.job set start_after = start_after - interval '90 s' where name = 'reverse' and state = 'created'`,
  );
  expect(await figuresOf('reverse')).toMatchObject({ ready: 1, active: 1, waiting: 1, retry: 1, dead: 0 });
  expect((await figuresOf('reverse')).oldestReadySeconds).toBeGreaterThan(85);
  expect(await figuresOf('purge')).toMatchObject({ ready: 0, oldestReadySeconds: null });
  const { stdout, exitCode } = await tapwireJobs();
  expect(exitCode).toBe(0);
  expect(stdout).toMatch(/^reverse +1 +1 +1 +1 +0 +\d+ s$/m);
  await jobs.boss.deleteJob('reverse', taken!.id);
});

test('a job that cannot be read is listed with its queue and its reason, and of its payload only names', async () => {
  const data = { ...payload(), pan: PAN, track: Number(PAN) };
  const letter = await die('expire-pin', { ...data, attempt: Number(PAN) });
  expect(letter).toMatchObject({
    queue: 'expire-pin',
    reason: 'attempt: too small',
    names: { acquirerId: 7, id: data.id },
  });
  expect(JSON.stringify(letter)).not.toContain(PAN);
  expect(await figuresOf('expire-pin')).toMatchObject({ dead: 1, ready: 0, active: 0 });
  const { stdout } = await tapwireJobs('dead-letters', 'list', '--queue', 'expire-pin');
  expect(stdout).toContain(letter.id);
  expect(stdout).toContain(`acquirerId=7 id=${data.id}`);
  expect(stdout).not.toContain(PAN);
});

test('a job without retries left is one, too', async () => {
  await jobs.boss.send('authorize', payload(), { retryLimit: 0 });
  const [taken] = await jobs.boss.fetch('authorize', { includeMetadata: true });
  await jobs.boss.fail('authorize', { id: taken!.id, retryCount: 0 }, { reason: 'TypeError' });
  const [letter] = await listDeadLetters(testDatabase.database, 'authorize');
  expect(letter).toMatchObject({ queue: 'authorize', reason: 'TypeError', retries: 0 });
});

test('a redriven job is in its queue again, with all its retries; the others remain', async () => {
  const [first, second] = [await die('authorize', payload()), await die('authorize', payload())];
  expect(await tapwireJobs('dead-letters', 'redrive', first.id)).toMatchObject({
    exitCode: 0,
    stdout: '1 returned to the queue\n',
  });
  const [taken] = await jobs.boss.fetch<object>('authorize', { includeMetadata: true });
  expect(taken).toMatchObject({ data: first.names, retryCount: 0, retryLimit: 3 });
  expect((await listDeadLetters(testDatabase.database)).map(({ id }) => id)).toContain(second.id);
  expect(await tapwireJobs('dead-letters', 'redrive', first.id)).toMatchObject({ exitCode: 1 });
});

test('a queue is redriven as a whole', async () => {
  await die('authorize', payload());
  const { dead, ready } = await figuresOf('authorize');
  const { stdout } = await tapwireJobs('dead-letters', 'redrive', '--queue', 'authorize');
  expect(stdout).toBe(`${dead} returned to the queue\n`);
  expect(await figuresOf('authorize')).toMatchObject({ dead: 0, ready: ready + dead });
  expect((await figuresOf('expire-pin')).dead).toBe(1);
});

test.each([
  [['dead-letters', 'redrive']],
  [['dead-letters', 'redrive', 'not-an-id']],
  [['dead-letters', 'redrive', randomUUID(), '--queue', 'expire-pin']],
  [['dead-letters', 'bury']],
  [['letters']],
])('tapwire jobs %j prints its usage', async (args) => {
  const { exitCode, stderr } = await tapwireJobs(...args);
  expect(exitCode).toBe(2);
  expect(stderr).toContain('usage: tapwire jobs');
});
