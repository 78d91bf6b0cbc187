import { expect, test } from 'vitest';
import { DatabaseClock } from '../../../src/store/postgres/database-clock.ts';
import type { Database } from '../../../src/store/postgres/open-database.ts';

/** A database whose clock and response times a test sets. */
function fakeDatabase() {
  const state = { monotonicMs: 1_000, databaseMs: 1_700_000_000_000, toMs: 2, backMs: 2, isAway: false };
  const pass = (ms: number) => {
    state.monotonicMs += ms;
    state.databaseMs += ms;
  };
  const query = async () => {
    if (state.isAway) throw new Error('away');
    pass(state.toMs);
    const ms = state.databaseMs;
    pass(state.backMs);
    return { rows: [{ ms }] };
  };
  return { state, pass, database: { query } as unknown as Pick<Database, 'query'> };
}

test('returns the time of the database, for any clock of the node', async () => {
  const { state, pass, database } = fakeDatabase();
  const clock = await DatabaseClock.open(database, () => state.monotonicMs);
  try {
    expect(clock.nowMs()).toBe(state.databaseMs);
    pass(5_000);
    expect(clock.nowMs()).toBe(state.databaseMs);
    state.databaseMs += 90_000; // another server took over
    await clock.adjust();
    expect(Math.abs(clock.nowMs() - state.databaseMs)).toBeLessThanOrEqual(2);
  } finally {
    await clock.close();
  }
});

test('is not moved by a response that was slow in one direction, and continues while the database is unavailable', async () => {
  const { state, pass, database } = fakeDatabase();
  const clock = await DatabaseClock.open(database, () => state.monotonicMs);
  try {
    Object.assign(state, { toMs: 0, backMs: 4_000 });
    await clock.adjust();
    expect(clock.nowMs()).toBe(state.databaseMs);
    state.isAway = true;
    await expect(clock.adjust()).rejects.toThrow('away');
    pass(60_000);
    expect(clock.nowMs()).toBe(state.databaseMs);
  } finally {
    await clock.close();
  }
});
