import { randomUUID } from 'node:crypto';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest';
import { StoreUnavailable } from '../../src/basics/errors.ts';
import { DueJobs } from '../../src/jobs/due-jobs.ts';
import { JobTable } from '../../src/jobs/job-table.ts';
import { Pump, type PumpOptions } from '../../src/jobs/pump.ts';
import { DEAD_LETTERS, listDeadLetters } from '../../src/jobs/queues.ts';
import type { JobRequest } from '../../src/payments/model/decision.ts';
import { inTransaction } from '../../src/store/postgres/group-commit.ts';
import { eventually } from '../support/eventually.ts';
import { failOnBug } from '../support/fail-on-bug.ts';
import { createTestDatabase, type TestDatabase } from '../support/test-database.ts';

let testDatabase: TestDatabase;
let jobs: JobTable;
let due: DueJobs;
const pumps: Pump<'expire-pin'>[] = [];
beforeAll(async () => {
  testDatabase = await createTestDatabase();
  jobs = await JobTable.open(testDatabase.database, failOnBug);
});
beforeEach(() => {
  due = new DueJobs(jobs, failOnBug);
});
afterEach(async () => {
  vi.restoreAllMocks();
  await Promise.all(pumps.splice(0).map((pump) => pump.stop()));
  await due.stop();
  await eventually(() => jobs.boss.deleteAllJobs()); // it may deadlock with the monitor
});
afterAll(async () => {
  await jobs.close();
  await testDatabase.drop();
});

type Payload = Extract<JobRequest, { queue: 'expire-pin' }>['data'];

const payloadOf = (attempt = 1): Payload => ({ acquirerId: 1, id: randomUUID(), attempt });

async function enqueue(payloads: readonly Payload[], startAfterSeconds?: number): Promise<void> {
  const requests = payloads.map(
    (data) => ({ queue: 'expire-pin', data, ...(startAfterSeconds && { startAfterSeconds }) }) as const,
  );
  await inTransaction(testDatabase.database, (client) => jobs.enqueue(client, requests));
}

/** Runs a handler on the queue, with rare polling unless it is woken. */
function pump(handle: PumpOptions<'expire-pin'>['handle'], changes: Partial<PumpOptions<'expire-pin'>> = {}) {
  const errors: unknown[] = [];
  const options = {
    queue: 'expire-pin',
    credits: 10,
    pollMs: 100,
    onError: (error: unknown) => void errors.push(error),
  } as const;
  const opened = new Pump<'expire-pin'>(jobs, due, { ...options, ...changes, handle });
  pumps.push(opened);
  return { pump: opened, errors };
}

interface StoredJob {
  readonly name: string;
  readonly state: string;
  readonly data: Record<string, unknown>;
  readonly startsInSeconds: number;
}

async function storedJobs(): Promise<StoredJob[]> {
  const { rows } = await testDatabase.database.query<StoredJob>(
    `select name, state, data, extract(epoch from start_after - clock_timestamp())::float8 as "startsInSeconds"
     from pgboss.job order by name, created_on`,
  );
  return rows;
}

/** A gate that a test opens. */
function gate() {
  let open = () => {};
  const opened = new Promise<void>((resolve) => {
    open = resolve;
  });
  return { open: () => open(), opened };
}

describe('a job', () => {
  test('a job that is done is removed', async () => {
    const payload = payloadOf();
    const seen: Payload[] = [];
    pump(async (given) => {
      seen.push(given);
      return 'done';
    });
    await enqueue([payload]);
    await eventually(async () => expect(await storedJobs()).toEqual([]));
    expect(seen).toEqual([payload]);
  });

  test('a job that is requested again returns at its time, with its payload, once', async () => {
    const payload = payloadOf();
    pump(async () => ({ againAfterSeconds: 60 }));
    await enqueue([payload]);
    await eventually(async () => {
      const [job, ...others] = await storedJobs();
      expect(others).toEqual([]);
      expect(job).toMatchObject({ name: 'expire-pin', state: 'created', data: payload });
      expect(job!.startsInSeconds).toBeGreaterThan(50);
      expect(job!.startsInSeconds).toBeLessThanOrEqual(60);
    });
  });

  test('a job whose handler throws is reported, and retried until it is done', async () => {
    let tries = 0;
    const { errors } = pump(async () => {
      tries++;
      if (tries === 1) throw new Error('the database is unavailable');
      return 'done';
    });
    await enqueue([payloadOf()]);
    await eventually(() => expect(tries).toBe(2));
    await eventually(async () => expect(await storedJobs()).toEqual([]));
    expect(errors).toMatchObject([{ message: 'the database is unavailable' }]);
  });

  test('a job that fails while the database is unavailable is returned when it is back, before its claim expires', async () => {
    const fail = vi.spyOn(jobs.boss, 'fail').mockRejectedValueOnce(new StoreUnavailable(false));
    let tries = 0;
    pump(async () => {
      tries++;
      if (tries === 1) throw new StoreUnavailable(false);
      return 'done';
    });
    await enqueue([payloadOf()]);
    await eventually(() => expect(fail).toHaveBeenCalledTimes(2));
    await eventually(async () => expect(await storedJobs()).toEqual([]));
    expect(tries).toBe(2);
  });

  test('a job whose handler throws stores nothing of the error in the table', async () => {
    pump(async () => {
      throw new Error('4111111111111111');
    });
    await enqueue([payloadOf()]);
    await eventually(async () => expect(await storedJobs()).toMatchObject([{ state: 'retry' }]));
    const { rows } = await testDatabase.database.query('select to_jsonb(job)::text as text from pgboss.job');
    expect(JSON.stringify(rows)).not.toContain('4111111111111111');
  });

  test.each([
    ['lacks a field', { acquirerId: 1, id: randomUUID() }, 'attempt'],
    ['has a field too many', { ...payloadOf(), pan: 'x' }, 'pan'],
    ['is another kind of thing', { acquirerId: 'one', id: 'x', attempt: 0 }, 'acquirerId'],
  ])('a job whose payload %s becomes a dead letter with the reason, and is not handled', async (_what, data, reason) => {
    let handled = 0;
    pump(async () => {
      handled++;
      return 'done';
    });
    await jobs.boss.send('expire-pin', data);
    const letter = await eventually(async () => {
      const [job, ...others] = await storedJobs();
      expect(others).toEqual([]);
      expect(job!.name).toBe(DEAD_LETTERS);
      return job!;
    });
    expect(letter.data).toEqual(data);
    const [listed] = await listDeadLetters(testDatabase.database);
    expect(listed).toMatchObject({ queue: 'expire-pin', reason: expect.stringContaining(reason) });
    expect(handled).toBe(0);
  });

  test('is not fetched before its time', async () => {
    let handled = 0;
    pump(async () => {
      handled++;
      return 'done';
    });
    await enqueue([payloadOf()], 1);
    const enqueuedAtMs = performance.now();
    await eventually(() => expect(handled).toBe(1));
    expect(performance.now() - enqueuedAtMs).toBeGreaterThan(900);
  });

  test('a job of a dead worker is given to another after its claim has expired', async () => {
    await enqueue([payloadOf()]);
    const [held] = await jobs.boss.fetch('expire-pin');
    expect(held).toBeDefined();
    let handled = 0;
    pump(async () => {
      handled++;
      return 'done';
    });
    await testDatabase.database.query(`update pgboss.job set started_on = started_on - interval '1 hour'`);
    await eventually(() => expect(handled).toBe(1));
    await eventually(async () => expect(await storedJobs()).toEqual([]));
  });
});

describe('a pump', () => {
  test('handles as many jobs at once as it has credits, and fetches the next when one is free', async () => {
    const { open, opened } = gate();
    let working = 0;
    let most = 0;
    let done = 0;
    const { pump: limited } = pump(
      async () => {
        most = Math.max(most, ++working);
        await opened;
        working--;
        done++;
        return 'done';
      },
      { credits: 3, pollMs: 60_000 },
    );
    await enqueue(Array.from({ length: 8 }, () => payloadOf()));
    limited.wake();
    await eventually(() => expect(limited.busy).toBe(3));
    expect((await storedJobs()).filter(({ state }) => state === 'active')).toHaveLength(3);
    open();
    await eventually(() => expect(done).toBe(8));
    expect(most).toBe(3);
  });

  test('is not delayed by one slow job', async () => {
    const { open, opened } = gate();
    const slow = payloadOf();
    let done = 0;
    pump(
      async ({ id }) => {
        if (id === slow.id) await opened;
        done++;
        return 'done';
      },
      { credits: 2 },
    );
    await enqueue([slow]);
    await enqueue(Array.from({ length: 5 }, () => payloadOf()));
    await eventually(() => expect(done).toBe(5));
    open();
    await eventually(() => expect(done).toBe(6));
  });

  test('a pump that is woken polls immediately', async () => {
    let handled = 0;
    const { pump: sleeping } = pump(
      async () => {
        handled++;
        return 'done';
      },
      { pollMs: 3_600_000 },
    );
    await new Promise((resolve) => setTimeout(resolve, 50)); // its first poll finds nothing
    await enqueue([payloadOf()]);
    sleeping.wake();
    await eventually(() => expect(handled).toBe(1));
  });

  test('a pump that is stopped lets the active jobs finish and fetches no others', async () => {
    const { open, opened } = gate();
    let started = 0;
    let done = 0;
    const { pump: stopping } = pump(
      async () => {
        started++;
        await opened;
        done++;
        return 'done';
      },
      { credits: 1 },
    );
    await enqueue([payloadOf(), payloadOf()]);
    stopping.wake();
    await eventually(() => expect(started).toBe(1));
    const stopped = stopping.stop();
    open();
    await stopped;
    expect({ started, done }).toEqual({ started: 1, done: 1 });
    stopping.wake();
    expect(await storedJobs()).toMatchObject([{ state: 'created' }]);
  });

  test('a pump that is stopped during a poll finishes the jobs of that poll before it reports that it has stopped', async () => {
    const { open, opened } = gate();
    const looking = gate();
    const fetch = jobs.boss.fetch.bind(jobs.boss);
    vi.spyOn(jobs.boss, 'fetch').mockImplementationOnce(async (...given) => {
      looking.open();
      await opened;
      return fetch(...given);
    });
    let done = 0;
    await enqueue([payloadOf()]);
    const { pump: stopping } = pump(async () => {
      done++;
      return 'done';
    });
    await looking.opened;
    const stopped = stopping.stop();
    open();
    await stopped;
    expect(done).toBe(1);
    expect(await storedJobs()).toEqual([]);
  });

  test('continues after a failure of the database', async () => {
    vi.spyOn(jobs.boss, 'fetch').mockRejectedValueOnce(new Error('connection lost'));
    await enqueue([payloadOf()]);
    let handled = 0;
    const { errors } = pump(async () => {
      handled++;
      return 'done';
    });
    await eventually(() => expect(handled).toBe(1));
    expect(errors).toMatchObject([{ message: 'connection lost' }]);
  });
});
