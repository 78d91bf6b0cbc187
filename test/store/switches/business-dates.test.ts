import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { openDatabase } from '../../../src/store/postgres/open-database.ts';
import { BusinessDates } from '../../../src/store/switches/business-dates.ts';
import { eventually } from '../../support/eventually.ts';
import { failOnBug } from '../../support/fail-on-bug.ts';
import { createTestDatabase, type TestDatabase } from '../../support/test-database.ts';

const HOUR_MS = 3_600_000;

let testDatabase: TestDatabase;
/** A new one in each test: a date that the previous test announced may be stored late. */
let acquirerId = 0;
const one = () => ({ acquirerId, processorId: 1 });
const two = () => ({ acquirerId, processorId: 2 });
/** The wall clock of every process, close to the database's own. */
let nowMs: number;
const opened: BusinessDates[] = [];
beforeAll(async () => {
  testDatabase = await createTestDatabase();
});
beforeEach(() => {
  acquirerId++;
  nowMs = Date.parse(`${new Date().toISOString().slice(0, 10)}T20:00:00Z`);
});
afterAll(async () => {
  for (const dates of opened) await dates.close();
  await testDatabase.drop();
});

async function openProcess(): Promise<BusinessDates> {
  const dates = await BusinessDates.open(testDatabase.database, () => nowMs, failOnBug);
  opened.push(dates);
  return dates;
}

/** Days from the calendar's today. */
function day(distance: number): string {
  return new Date(nowMs + distance * 24 * HOUR_MS).toISOString().slice(0, 10);
}

const monthDay = (distance: number) => day(distance).slice(5).replace('-', '');

test('a switch that announces no business date uses the calendar, in UTC', async () => {
  const dates = await openProcess();
  expect(dates.current(acquirerId)).toBe(day(0));
  nowMs += 4 * HOUR_MS;
  expect(dates.current(acquirerId)).toBe(day(0));
});

describe('a business date', () => {
  test('a business date that one process receives is known to the others after their next read, and after a restart', async () => {
    const [here, there] = [await openProcess(), await openProcess()];
    here.announce(one(), monthDay(1));
    expect(here.current(acquirerId)).toBe(day(1));
    await eventually(async () => {
      await there.refresh();
      expect(there.current(acquirerId)).toBe(day(1));
    });
    expect((await openProcess()).current(acquirerId)).toBe(day(1));
    expect(there.current(acquirerId + 1_000)).toBe(day(0));
  });

  test('a business date only advances', async () => {
    const dates = await openProcess();
    for (const distance of [2, 1, 0, -1]) dates.announce(one(), monthDay(distance));
    expect(dates.current(acquirerId)).toBe(day(2));
  });

  test('a business date of an acquirer is the earliest of its switches, because they share their numbers', async () => {
    const dates = await openProcess();
    dates.announce(one(), monthDay(2));
    dates.announce(two(), monthDay(1));
    expect(dates.current(acquirerId)).toBe(day(1));
    dates.announce(two(), monthDay(3));
    expect(dates.current(acquirerId)).toBe(day(2));
  });

  test('a business date of a switch that is more than a day behind the newest does not count: it carries no traffic', async () => {
    const dates = await openProcess();
    dates.announce(two(), monthDay(-3));
    dates.announce(one(), monthDay(1));
    expect(dates.current(acquirerId)).toBe(day(1));
    dates.announce(two(), monthDay(0));
    expect(dates.current(acquirerId)).toBe(day(0));
  });

  test('a business date of a removed processor does not count, neither elsewhere nor in the process that received it', async () => {
    await testDatabase.database.query(`insert into acquirers (id, name) values ($1, 'a')`, [acquirerId]);
    await testDatabase.database.query(
      `insert into processors (acquirer_id, id, type, config) values ($1, 1, 'type-2', '{}'), ($1, 2, 'type-2', '{}')`,
      [acquirerId],
    );
    const dates = await openProcess();
    dates.announce(one(), monthDay(0));
    dates.announce(two(), monthDay(1));
    await eventually(async () => {
      const stored = await testDatabase.database.query('select from business_dates where acquirer_id = $1', [
        acquirerId,
      ]);
      expect(stored.rowCount).toBe(2);
    });
    expect(dates.current(acquirerId)).toBe(day(0));
    await testDatabase.database.query('update processors set removed_at = now() where acquirer_id = $1 and id = 1', [
      acquirerId,
    ]);
    await dates.refresh();
    expect(dates.current(acquirerId)).toBe(day(1));
    expect((await openProcess()).current(acquirerId)).toBe(day(1));
  });

  test('remains that of a process that could not store it', async () => {
    const dates = await openProcess();
    dates.announce(one(), monthDay(1));
    await eventually(async () => {
      const stored = await testDatabase.database.query('select from business_dates where acquirer_id = $1', [
        acquirerId,
      ]);
      expect(stored.rowCount).toBe(1);
    });
    await testDatabase.database.query('truncate business_dates');
    await dates.refresh();
    expect(dates.current(acquirerId)).toBe(day(1));
  });

  test('a business date that was received just before the end is stored', async () => {
    const database = await openDatabase(testDatabase.url, { maxConnections: 1 });
    const dates = await BusinessDates.open(database, () => nowMs, failOnBug);
    for (const processorId of [1, 2, 3]) dates.announce({ acquirerId, processorId }, monthDay(1));
    await dates.close();
    await database.end();
    const stored = 'select from business_dates where acquirer_id = $1';
    expect((await testDatabase.database.query(stored, [acquirerId])).rowCount).toBe(3);
  });

  test('no longer counts if the switch has announced none for longer than any business day lasts', async () => {
    await testDatabase.database.query(
      `insert into business_dates values ($1, 1, $2, clock_timestamp() - interval '6 days')`,
      [acquirerId, day(-6)],
    );
    expect((await openProcess()).current(acquirerId)).toBe(day(0));
  });

  test.each(['', 'ab', '1332', '0000', '261120', '12-31'])('is not read from "%s"', async (text) => {
    const dates = await openProcess();
    dates.announce(one(), text);
    expect(dates.current(acquirerId)).toBe(day(0));
  });

  test.each([6, 30, 180, -6, -30, -180])('is not accepted %i days from today', async (distance) => {
    const dates = await openProcess();
    dates.announce(one(), monthDay(distance));
    expect(dates.current(acquirerId)).toBe(day(0));
  });
});

describe('a cut-over without a date', () => {
  test('a cut-over without a date in the evening begins tomorrow, after midnight today', async () => {
    const evening = await openProcess();
    evening.announce(one());
    expect(evening.current(acquirerId)).toBe(day(1));
    nowMs += 5 * HOUR_MS; // one in the morning
    const night = await openProcess();
    acquirerId++;
    night.announce(one());
    expect(night.current(acquirerId)).toBe(day(0));
  });

  test('begins the day after the announced one, even if that is ahead of the calendar', async () => {
    const dates = await openProcess();
    dates.announce(one(), monthDay(2));
    nowMs += 24 * HOUR_MS;
    dates.announce(one());
    expect(dates.current(acquirerId)).toBe(day(2));
  });

  test('is the same one within half a day, and another after that', async () => {
    const dates = await openProcess();
    dates.announce(one());
    const first = dates.current(acquirerId);
    nowMs += 11 * HOUR_MS;
    dates.announce(one());
    expect(dates.current(acquirerId)).toBe(first);
    nowMs += 13 * HOUR_MS;
    dates.announce(one());
    expect(dates.current(acquirerId) > first).toBe(true);
  });
});
