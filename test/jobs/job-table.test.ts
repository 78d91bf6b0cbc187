import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { JobTable } from '../../src/jobs/job-table.ts';
import { QUEUE_NAMES } from '../../src/jobs/queues.ts';
import { inTransaction } from '../../src/store/postgres/group-commit.ts';
import { openAlike, openDatabase } from '../../src/store/postgres/open-database.ts';
import { OfferedJobs } from '../../src/store/transactions/jobs-in-commit.ts';
import { eventually } from '../support/eventually.ts';
import { failOnBug } from '../support/fail-on-bug.ts';
import { createTestDatabase, type TestDatabase, urlOfMissingDatabase } from '../support/test-database.ts';

let testDatabase: TestDatabase;
let jobs: JobTable;
beforeAll(async () => {
  testDatabase = await createTestDatabase();
  jobs = await open(testDatabase.database);
});
afterAll(async () => {
  await jobs.close();
  await testDatabase.drop();
});

function open(database: TestDatabase['database']): Promise<JobTable> {
  return JobTable.open(database, failOnBug);
}

const data = () => ({ acquirerId: 1, id: randomUUID(), attempt: 1 });

async function stored(id: string): Promise<number> {
  const { rowCount } = await testDatabase.database.query('select from pgboss.job where id = $1', [id]);
  return rowCount!;
}

test('a job exists with the commit it was enqueued in, or not at all', async () => {
  const [kept, lost] = [randomUUID(), randomUUID()];
  await inTransaction(testDatabase.database, (client) =>
    jobs.enqueue(client, [{ queue: 'expire-pin', id: kept, data: data() }]),
  );
  const failing = inTransaction(testDatabase.database, async (client) => {
    await jobs.enqueue(client, [{ queue: 'expire-pin', id: lost, data: data() }]);
    throw new Error('the status could not be stored');
  });
  await expect(failing).rejects.toThrow('the status could not be stored');
  expect([await stored(kept), await stored(lost)]).toEqual([1, 0]);
});

test('a job is removed in the commit that makes it unnecessary, or not at all', async () => {
  const [gone, still] = [randomUUID(), randomUUID()];
  const enqueue = [gone, still].map((id) => ({ queue: 'expire-pin', id, data: data() }) as const);
  await inTransaction(testDatabase.database, (client) => jobs.enqueue(client, enqueue));
  await inTransaction(testDatabase.database, (client) => jobs.remove(client, 'expire-pin', [gone, randomUUID()]));
  const failing = inTransaction(testDatabase.database, async (client) => {
    await jobs.remove(client, 'expire-pin', [still]);
    throw new Error('no');
  });
  await expect(failing).rejects.toThrow('no');
  expect([await stored(gone), await stored(still)]).toEqual([0, 1]);
});

test('one commit can contain jobs of several queues', async () => {
  const ids = [randomUUID(), randomUUID(), randomUUID()] as const;
  await inTransaction(testDatabase.database, (client) =>
    jobs.enqueue(client, [
      { queue: 'expire-pin', id: ids[0], data: data(), startAfterSeconds: 5 },
      { queue: 'authorize', id: ids[1], data: data() },
      { queue: 'reverse', id: ids[2], data: { ...data(), reversalAttempt: 1 } },
    ]),
  );
  expect(await Promise.all(ids.map(stored))).toEqual([1, 1, 1]);
});

test('a job with an existing id fails the commit: a status must not exist without its job', async () => {
  const id = randomUUID();
  const enqueue = () =>
    inTransaction(testDatabase.database, (client) => jobs.enqueue(client, [{ queue: 'expire-pin', id, data: data() }]));
  await enqueue();
  await expect(enqueue()).rejects.toThrow();
  expect(await stored(id)).toBe(1);
});

describe('jobs that are offered before it is known which writes take effect', () => {
  const job = () => ({ queue: 'expire-pin', id: randomUUID(), data: data() }) as const;

  test('are kept with the writes that do, and leave with the others', async () => {
    const [kept, first, second, existing] = [job(), job(), job(), job()];
    await inTransaction(testDatabase.database, (client) => jobs.enqueue(client, [existing]));
    await inTransaction(testDatabase.database, async (client) => {
      const offered = new OfferedJobs(client, jobs, [[kept], [first, second], [], [existing]]);
      await offered.keep([true, false, true, false]);
    });
    expect(await Promise.all([kept, first, second, existing].map(({ id }) => stored(id)))).toEqual([1, 0, 0, 1]);
  });

  test('fail the commit if one of them exists already and its write takes effect', async () => {
    const existing = job();
    await inTransaction(testDatabase.database, (client) => jobs.enqueue(client, [existing]));
    const work = inTransaction(testDatabase.database, (client) =>
      new OfferedJobs(client, jobs, [[existing]]).keep([true]),
    );
    await expect(work).rejects.toThrow('1 jobs were to be inserted, 0 were');
  });
});

test('jobs of a commit that has failed join no later commit of the same connection', async () => {
  const database = openAlike(testDatabase.database, { maxConnections: 1 });
  const [lost, kept] = [randomUUID(), randomUUID()];
  const fresh = await open(testDatabase.database); // pg-boss reads the properties of each queue before its first job
  let offered: Promise<unknown> | undefined;
  const failing = inTransaction(database, async (client) => {
    offered = fresh.offer(client, [{ queue: 'expire-pin', id: lost, data: data() }]);
    offered.catch(() => {});
    throw new Error('the status could not be stored');
  });
  await expect(failing).rejects.toThrow('the status could not be stored');
  await inTransaction(database, async (client) => {
    await jobs.enqueue(client, [{ queue: 'expire-pin', id: kept, data: data() }]);
    await expect(offered).rejects.toThrow('has ended');
  });
  expect([await stored(lost), await stored(kept)]).toEqual([0, 1]);
  await fresh.close();
  await database.end();
});

test('jobs of the second queue of a commit that failed during those of the first are not stored on their own', async () => {
  const database = openAlike(testDatabase.database, { maxConnections: 1 });
  const offer = (['authorize', 'expire-pin'] as const).map((queue) => ({ queue, id: randomUUID(), data: data() }));
  await inTransaction(database, (client) =>
    jobs.enqueue(
      client,
      offer.map((job) => ({ ...job, id: randomUUID() })),
    ),
  );
  const blocker = await testDatabase.database.connect();
  await blocker.query('begin; lock table pgboss.job in access exclusive mode');
  const fault = Promise.withResolvers<never>();
  const pid = Promise.withResolvers<number>();
  let offered: Promise<unknown> | undefined;
  const failing = inTransaction(database, async (client) => {
    pid.resolve((await client.query<{ pid: number }>('select pg_backend_pid() as pid')).rows[0]!.pid);
    offered = jobs.offer(client, offer);
    offered.catch(() => {});
    return fault.promise;
  });
  failing.catch(() => {});
  const blocked = `select from pg_stat_activity where pid = $1 and wait_event_type = 'Lock'`;
  const values = [await pid.promise];
  await eventually(async () => expect((await testDatabase.database.query(blocked, values)).rowCount).toBe(1));
  fault.reject(new Error('the status could not be stored'));
  await blocker.query('commit');
  blocker.release();
  await expect(failing).rejects.toThrow('the status could not be stored');
  await expect(offered).rejects.toThrow('has ended');
  expect(await Promise.all(offer.map(({ id }) => stored(id)))).toEqual([0, 0]);
  await database.end();
});

test('several processes that start at once on a new database agree on its queues', async () => {
  const databases = await Promise.all(Array.from({ length: 3 }, () => openDatabase(newUrl, { maxConnections: 2 })));
  const tables = await Promise.all(databases.map(open));
  try {
    const { rows } = await databases[0]!.query<{ name: string }>('select name from pgboss.queue');
    expect(rows.map(({ name }) => name)).toEqual(expect.arrayContaining([...QUEUE_NAMES, 'dead-letters']));
  } finally {
    for (const table of tables) await table.close();
    for (const database of databases) await database.end();
  }
});

const newUrl = urlOfMissingDatabase();

test('a queue has due jobs if one could be fetched now', async () => {
  await eventually(() => jobs.boss.deleteAllJobs()); // it may deadlock with the monitor
  const asked = ['expire-pin', 'webhook', 'reverse', 'expire-link'] as const;
  expect(await jobs.queuesWithDueJobs(asked)).toEqual([]);
  const [due, later] = [randomUUID(), randomUUID()];
  await inTransaction(testDatabase.database, (client) =>
    jobs.enqueue(client, [
      { queue: 'expire-pin', id: due, data: data() },
      { queue: 'refund', data: data() },
      { queue: 'expire-pin', id: later, data: data(), startAfterSeconds: 60 },
    ]),
  );
  expect(await jobs.queuesWithDueJobs(asked)).toEqual(['expire-pin']);
  expect(new Set(await jobs.queuesWithDueJobs(QUEUE_NAMES))).toEqual(new Set(['expire-pin', 'refund']));
  const [fetched] = await jobs.boss.fetch('expire-pin', { includeMetadata: true });
  expect(fetched!.id).toBe(due);
  expect(await jobs.queuesWithDueJobs(asked)).toEqual([]);
  await jobs.boss.fail('expire-pin', { id: due, retryCount: fetched!.retryCount });
  await testDatabase.database.query(`update pgboss.job set start_after = now() where id = $1`, [due]);
  expect(await jobs.queuesWithDueJobs(asked)).toEqual(['expire-pin']);
});

test('an attempt is overdue from its time on; one from before the last ten minutes is left to the seldom search', async () => {
  const { database } = testDatabase;
  const isOverdue = async (age: string) => {
    await database.query('delete from open_attempts');
    await database.query(`insert into open_attempts values (1, $1, 1, now() - $2::interval)`, [randomUUID(), age]);
    return jobs.queuesWithDueJobs(['webhook', 'overdue']);
  };
  expect(await isOverdue('-1 minute')).toEqual([]);
  expect(await isOverdue('1 second')).toEqual(['overdue']);
  expect(await isOverdue('9 minutes')).toEqual(['overdue']);
  expect(await isOverdue('11 minutes')).toEqual([]);
  await isOverdue('1 second');
  expect(await jobs.queuesWithDueJobs(['webhook'])).toEqual([]);
});
