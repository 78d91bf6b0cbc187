import { randomUUID } from 'node:crypto';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { LocalWakeups, SharedWakeups } from '../../../src/store/postgres/wakeups.ts';
import { DatabaseRelay, LISTENING } from '../../support/database-relay.ts';
import { eventually } from '../../support/eventually.ts';
import { createTestDatabase, type TestDatabase } from '../../support/test-database.ts';

/** Tests never wait this long: a test that ends was woken. */
const LONG_MS = 60_000;
const keyOf = (id: string) => ({ acquirerId: 1, id });

/** Whether a promise has settled by now. */
function watch(promise: Promise<unknown>): { isDone: boolean } {
  const watched = { isDone: false };
  void promise.then(() => {
    watched.isDone = true;
  });
  return watched;
}

describe('within a process', () => {
  test('all waiters of a transaction are woken, and no others', async () => {
    const wakeups = new LocalWakeups();
    const [one, other] = [randomUUID(), randomUUID()];
    const waiting = [wakeups.moved(keyOf(one), LONG_MS), wakeups.moved(keyOf(one), LONG_MS)];
    const elsewhere = watch(wakeups.moved(keyOf(other), LONG_MS));
    wakeups.announce(keyOf(one));
    await Promise.all(waiting);
    expect(elsewhere.isDone).toBe(false);
    wakeups.wake();
  });

  test('a waiter is released after its own time', async () => {
    const startedAtMs = performance.now();
    await new LocalWakeups().moved(keyOf(randomUUID()), 30);
    expect(performance.now() - startedAtMs).toBeGreaterThanOrEqual(29);
  });

  test('a notice without a waiter is not kept', async () => {
    const wakeups = new LocalWakeups();
    const id = randomUUID();
    wakeups.announce(keyOf(id));
    const waiting = watch(wakeups.moved(keyOf(id), 50));
    await new Promise((resolve) => setImmediate(resolve));
    expect(waiting.isDone).toBe(false);
  });
});

describe('between processes', () => {
  let testDatabase: TestDatabase;
  let relay: DatabaseRelay;
  const opened: SharedWakeups[] = [];
  const errors: unknown[] = [];
  beforeAll(async () => {
    testDatabase = await createTestDatabase();
    relay = await DatabaseRelay.open(testDatabase.url);
  });
  afterEach(async () => {
    for (const wakeups of opened.splice(0)) await wakeups.close();
    errors.length = 0;
  });
  afterAll(async () => {
    await relay.close();
    await testDatabase.drop();
  });

  /** A process's wake-ups, listening. */
  async function open(onAuthorize?: () => void): Promise<SharedWakeups> {
    const wakeups = new SharedWakeups({
      database: testDatabase.database,
      url: relay.url,
      onAuthorize,
      onError: (error) => errors.push(error),
    });
    opened.push(wakeups);
    await eventually(async () => expect(await listeners()).toBe(opened.length));
    return wakeups;
  }

  async function listeners(): Promise<number> {
    const { rowCount } = await testDatabase.database.query(
      `select from pg_stat_activity where datname = current_database() and application_name = 'tapwire-listen' and query like 'listen%' and state = 'idle'`,
    );
    return rowCount!;
  }

  test('an announcement wakes waiters in other processes, and in its own', async () => {
    const [one, other] = [await open(), await open()];
    const id = randomUUID();
    const waiting = [one.moved(keyOf(id), LONG_MS), other.moved(keyOf(id), LONG_MS)];
    one.announce(keyOf(id));
    await Promise.all(waiting);
  });

  test('a thousand announcements at once, more than a notice contains, all arrive', async () => {
    const [one, other] = [await open(), await open()];
    const ids = Array.from({ length: 1_000 }, () => randomUUID());
    const waiting = ids.map((id) => other.moved(keyOf(id), LONG_MS));
    for (const id of ids) one.announce(keyOf(id));
    await Promise.all(waiting);
  });

  test('announced work wakes workers, and only them', async () => {
    const woken: string[] = [];
    const api = await open();
    await open(() => woken.push('worker 1'));
    await open(() => woken.push('worker 2'));
    // Each looks for work when it begins to listen.
    await eventually(() => expect(woken.toSorted()).toEqual(['worker 1', 'worker 2']));
    woken.length = 0;
    const idle = watch(api.moved(keyOf(randomUUID()), LONG_MS));
    api.announceWork();
    await eventually(() => expect(woken.toSorted()).toEqual(['worker 1', 'worker 2']));
    expect(idle.isDone).toBe(false);
  });

  test('a listener that lost its connection reconnects, and wakes all waiters for missed notices', async () => {
    let looked = 0;
    const wakeups = await open(() => looked++);
    const lookedBefore = looked;
    const waiting = wakeups.moved(keyOf(randomUUID()), LONG_MS);
    relay.cut();
    await waiting;
    await eventually(() => expect(looked).toBeGreaterThan(lookedBefore));
    const id = randomUUID();
    const later = wakeups.moved(keyOf(id), LONG_MS);
    wakeups.announce(keyOf(id));
    await later;
  });

  test('a listener whose connection went silent gets another', async () => {
    const wakeups = await open();
    const waiting = wakeups.moved(keyOf(randomUUID()), LONG_MS);
    await eventually(() => expect(relay.silence(LISTENING)).toBeGreaterThan(0));
    await waiting; // a new listener wakes all waiters
    const id = randomUUID();
    const later = wakeups.moved(keyOf(id), LONG_MS);
    wakeups.announce(keyOf(id));
    await later;
  });

  test('an unavailable database is reported, tried again, and found', async () => {
    const wakeups = await open();
    await relay.goAway();
    await eventually(() => expect(errors.length).toBeGreaterThan(1));
    const waiting = wakeups.moved(keyOf(randomUUID()), LONG_MS);
    await relay.comeBack();
    await waiting;
  });

  test('announcements before the end are still sent', async () => {
    const [one, other] = [await open(), await open()];
    const id = randomUUID();
    const waiting = other.moved(keyOf(id), LONG_MS);
    one.announce(keyOf(id));
    await one.close();
    await waiting;
  });
});
