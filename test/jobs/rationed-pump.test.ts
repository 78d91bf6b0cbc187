import { randomUUID } from 'node:crypto';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import type { JobPayloads } from '../../schemas/jobs.ts';
import { DueJobs } from '../../src/jobs/due-jobs.ts';
import { JobTable } from '../../src/jobs/job-table.ts';
import { Pump, type PumpOptions } from '../../src/jobs/pump.ts';
import { inTransaction } from '../../src/store/postgres/group-commit.ts';
import { eventually } from '../support/eventually.ts';
import { failOnBug } from '../support/fail-on-bug.ts';
import { createTestDatabase, type TestDatabase } from '../support/test-database.ts';

type Payload = JobPayloads['webhook'];

let testDatabase: TestDatabase;
let jobs: JobTable;
let due: DueJobs;
let pump: Pump<'webhook'> | undefined;
beforeAll(async () => {
  testDatabase = await createTestDatabase();
  jobs = await JobTable.open(testDatabase.database, failOnBug);
});
afterEach(async () => {
  await pump?.stop();
  await due.stop();
  await jobs.boss.deleteAllJobs('webhook');
});
afterAll(async () => {
  await jobs.close();
  await testDatabase.drop();
});

const payload = (delivery = 1): Payload => ({
  acquirerId: 1,
  eventId: randomUUID(),
  endpointId: randomUUID(),
  round: 1,
  delivery,
});

function start(handle: PumpOptions<'webhook'>['handle'], changes: Partial<PumpOptions<'webhook'>> = {}): void {
  due = new DueJobs(jobs, failOnBug);
  pump = new Pump<'webhook'>(jobs, due, {
    queue: 'webhook',
    credits: 100,
    pollMs: 150,
    onError: failOnBug,
    handle,
    ...changes,
  });
}

const enqueue = (payloads: readonly Payload[]) =>
  inTransaction(testDatabase.database, (client) =>
    jobs.enqueue(
      client,
      payloads.map((data) => ({ queue: 'webhook', data })),
    ),
  );

async function stored(): Promise<{ id: string; data: Payload; state: string; startsInSeconds: number }[]> {
  const { rows } = await testDatabase.database.query(
    `select id, data, state, extract(epoch from start_after - clock_timestamp())::float8 as "startsInSeconds"
     from pgboss.job where name = 'webhook'`,
  );
  return rows;
}

test('a rationed queue returns no more than its ration per poll, regardless of free credits', async () => {
  await enqueue(Array.from({ length: 12 }, () => payload()));
  const rations = [5, 0, 0, 2];
  let looks = 0;
  let taken = 0;
  const takenByLook: number[] = [];
  const ration = () => {
    takenByLook.push(taken);
    return rations[looks++] ?? 0;
  };
  start(
    async () => {
      taken++;
      return 'done';
    },
    { ration, pollMs: 50 },
  );
  await eventually(() => expect(looks).toBeGreaterThan(5));
  expect(takenByLook.slice(0, 6)).toEqual([0, 5, 5, 5, 7, 7]);
});

test('a job that its handler settled in its own commit is left to that commit', async () => {
  await enqueue([payload()]);
  const seen: string[] = [];
  start(async (_payload, jobId) => {
    seen.push(jobId);
    return 'removed';
  });
  await eventually(() => expect(seen).toHaveLength(1));
  await pump!.stop();
  expect(await stored()).toMatchObject([{ id: seen[0], state: 'active' }]);
});

test('a job that is requested again may have another payload', async () => {
  const [first, second] = [payload(1), payload(2)];
  await enqueue([first]);
  start(async () => ({ againAfterSeconds: 60, payload: second }));
  await eventually(async () => expect(await stored()).toMatchObject([{ data: second, state: 'created' }]));
  const [job] = await stored();
  expect(job!.startsInSeconds).toBeGreaterThan(50);
});

test('a job that waits without its credit lets another run, within the limit', async () => {
  const waiting: { release: () => boolean; end: () => void }[] = [];
  start(
    (_payload, _jobId, slot) =>
      new Promise((resolve) => waiting.push({ release: () => slot.release(), end: () => resolve('done') })),
    { credits: 2, released: 2, pollMs: 20 },
  );
  await enqueue([1, 2, 3, 4, 5].map(payload));
  await eventually(() => expect(waiting).toHaveLength(2));
  expect([waiting[0]!.release(), waiting[0]!.release(), waiting[1]!.release()]).toEqual([true, true, true]);
  await eventually(() => expect(waiting).toHaveLength(4));
  expect(waiting[2]!.release()).toBe(false);
  waiting[0]!.end();
  await eventually(() => expect(waiting[2]!.release()).toBe(true));
  await eventually(() => expect(waiting).toHaveLength(5));
  for (const { end } of waiting) end();
  await eventually(() => expect(pump!.busy).toBe(0));
});
