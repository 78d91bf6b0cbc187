import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, beforeEach, expect, onTestFinished, test } from 'vitest';
import { LineLocks, LOCKS } from '../../../src/store/cells/advisory-locks.ts';
import { DatabaseRelay } from '../../support/database-relay.ts';
import { eventually } from '../../support/eventually.ts';
import { createTestDatabase, type TestDatabase } from '../../support/test-database.ts';

let own: TestDatabase;
let relay: DatabaseRelay;
beforeAll(async () => {
  own = await createTestDatabase();
  relay = await DatabaseRelay.open(own.url);
});
afterAll(async () => {
  await relay.close();
  await own.drop();
});

let errors: unknown[];
beforeEach(() => {
  errors = [];
});
const openLocks = (closeAfterMs?: number) => {
  const locks = new LineLocks(relay.url, (error) => errors.push(error), { closeAfterMs });
  onTestFinished(() => locks.close());
  return locks;
};
const sessions = async () =>
  (
    await own.database.query<{ pid: number }>(
      `select pid from pg_stat_activity where application_name = 'tapwire-lines' and datname = current_database()`,
    )
  ).rows;
const locksOf = async (acquirerId: number) =>
  (
    await own.database.query('select from pg_locks where classid = $1 and objid = $2 and granted', [
      LOCKS.lines,
      acquirerId,
    ])
  ).rowCount;

test('line locks that are closed while their database is unavailable end, without an unhandled rejection', async () => {
  const unhandled: unknown[] = [];
  const note = (error: unknown) => unhandled.push(error);
  process.on('unhandledRejection', note);
  const locks = openLocks();
  await locks.claim(1, () => {});
  await relay.goAway();
  await eventually(() => expect(errors.length).toBeGreaterThan(0)); // it has begun to reconnect
  await locks.close();
  const count = errors.length;
  await sleep(700); // the time after which it would have tried again
  process.off('unhandledRejection', note);
  await relay.comeBack();
  expect([unhandled, errors.length]).toEqual([[], count]);
});

test('line locks have one session and try one connection at a time in each outage, and release in it what they took', async () => {
  const locks = openLocks();
  let isLost = false;
  const release = await locks.claim(1, () => {
    isLost = true;
  });
  for (let outage = 1; outage <= 3; outage++) {
    errors.length = 0;
    const startedAtMs = performance.now();
    await relay.goAway();
    await eventually(() => expect(errors.length).toBeGreaterThanOrEqual(2));
    const passedMs = performance.now() - startedAtMs;
    await relay.comeBack();
    // Before each try is a pause of 500 ms, which a timer may end a little early; not before one that the outage interrupts.
    expect(errors.length).toBeLessThanOrEqual(passedMs / 450 + 1);
    await eventually(async () => expect(await locksOf(1)).toBe(1));
  }
  await eventually(async () => expect(await sessions()).toHaveLength(1));
  expect(isLost).toBe(false);
  await release!();
  // At once, or as soon as the response to the lock has arrived.
  await eventually(async () => expect(await locksOf(1)).toBe(0));
});

test('connections are given up if the locks are not regained in time, and claimed again afterwards', async () => {
  const locks = openLocks(100);
  const lost: number[] = [];
  await locks.claim(1, () => lost.push(1));
  await locks.claim(2, () => lost.push(2));
  await relay.goAway();
  await eventually(() => expect(lost).toEqual([1, 2]));
  await expect(locks.claim(1, () => {})).rejects.toThrow('STORE_UNAVAILABLE');
  await relay.comeBack();
  const release = await eventually(async () => (await locks.claim(1, () => {}))!);
  // The server may take a moment to notice that the session of before has ended.
  await eventually(async () => expect([await locksOf(1), await locksOf(2)]).toEqual([1, 0]));
  await release();
});

test('connections are given up at once if another session has the lock when the database is available again', async () => {
  const locks = openLocks();
  const lost: number[] = [];
  await locks.claim(1, () => lost.push(1));
  await locks.claim(2, () => lost.push(2));
  await relay.goAway();
  await eventually(async () => expect(await sessions()).toEqual([]));
  const mover = await own.database.connect();
  await mover.query('select pg_advisory_lock($1, 1)', [LOCKS.lines]);
  await relay.comeBack();
  await eventually(() => expect(lost).toEqual([1]));
  expect(await locksOf(2)).toBe(1);
  await mover.query('select pg_advisory_unlock_all()');
  mover.release();
});
