import { randomUUID } from 'node:crypto';
import { cpSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import { partitionFindings } from '../../../src/ops/doctor/partition-findings.ts';
import { migrate } from '../../../src/store/postgres/migrate.ts';
import { type Database, openDatabase } from '../../../src/store/postgres/open-database.ts';
import {
  ATTEMPT_MESSAGES,
  dropPartitions,
  fromDay,
  makePartitions,
  mixedPartitions,
  TRANSACTION_EVENTS,
} from '../../../src/store/postgres/partitions.ts';
import { ROOT } from '../../style/source-files.ts';
import { createTestDatabase, type TestDatabase, urlOfMissingDatabase } from '../../support/test-database.ts';

let testDatabase: TestDatabase;
let database: Database;
beforeEach(async () => {
  testDatabase = await createTestDatabase();
  database = testDatabase.database;
});
afterEach(() => testDatabase.drop());

/** A day before or after today, as the database counts them. */
async function dayIn(days: number): Promise<string> {
  const { rows } = await database.query<{ day: string }>(
    `select ((clock_timestamp() at time zone 'UTC')::date + $1::integer)::text as day`,
    [days],
  );
  return rows[0]!.day;
}

const nameOf = (day: string) => `attempt_messages_${day.replaceAll('-', '')}`;

async function addMessage(day: string | null = null, to: Database = database): Promise<void> {
  await to.query(
    `insert into attempt_messages (acquirer_id, transaction_id, sent_at, took_ms, processor_id, attempt, number, kind, connection, outcome, day)
     values (1, $1, now(), 1, 1, 1, 1, 'reversal', 'line', 'answered', coalesce($2::date, (now() at time zone 'UTC')::date))`,
    [randomUUID(), day],
  );
}

/** How many messages each partition has; those without any are left out. */
async function messagesByPartition(): Promise<Record<string, number>> {
  const { rows } = await database.query<{ name: string; count: number }>(
    'select tableoid::regclass::text as name, count(*)::int as count from attempt_messages group by 1',
  );
  return Object.fromEntries(rows.map(({ name, count }) => [name, count]));
}

async function addPartition(from: string, to: string): Promise<string> {
  await database.query(
    `create table ${nameOf(from)} partition of attempt_messages for values from ('${from}') to ('${to}')`,
  );
  return nameOf(from);
}

/** A transaction that reads a table. @returns ends it */
async function read(table: string): Promise<() => Promise<void>> {
  const reader = await database.connect();
  await reader.query('begin');
  await reader.query(`select from ${table}`);
  return async () => {
    await reader.query('commit');
    reader.release();
  };
}

describe('partitions of the next days', () => {
  test('exist after the migration, and are made when some are missing', async () => {
    expect(await makePartitions(database, ATTEMPT_MESSAGES)).toEqual({ done: [], postponed: [] });
    expect(await makePartitions(database, TRANSACTION_EVENTS)).toEqual({ done: [], postponed: [] });
    expect(await partitionFindings(database)).toMatchObject([{ verdict: 'good' }]);
    const last = [nameOf(await dayIn(6)), nameOf(await dayIn(7))];
    await database.query(`drop table ${last.join()}`);
    expect(await makePartitions(database, ATTEMPT_MESSAGES)).toEqual({ done: last, postponed: [] });
    await addMessage(await dayIn(7));
    expect(await messagesByPartition()).toEqual({ [last[1]!]: 1 });
  });

  test('are made for months that refuse changes', async () => {
    const { done } = await makePartitions(database, { ...TRANSACTION_EVENTS, aheadDays: 200 });
    expect(done.length).toBeGreaterThan(3);
    await expect(database.query(`truncate ${done[0]}`)).rejects.toThrow('append-only');
    await expect(database.query(`update ${done[0]} set attempt = 2`)).rejects.toThrow('append-only');
  });

  test('are made after days without any, whose rows are in the default partition', async () => {
    const { rows } = await database.query<{ name: string }>(
      `select inhrelid::regclass::text as name from pg_inherits where inhparent = 'attempt_messages'::regclass`,
    );
    const days = rows.map(({ name }) => name).filter((name) => /_\d{8}$/.test(name) && !name.includes('before'));
    await database.query(`drop table ${days.join()}`);
    await addMessage();
    expect(await partitionFindings(database)).toMatchObject([
      { verdict: 'warning', description: expect.stringContaining('none for tomorrow') },
    ]);
    const { done } = await makePartitions(database, ATTEMPT_MESSAGES);
    expect(await partitionFindings(database)).toMatchObject([
      { verdict: 'warning', description: expect.stringContaining('_default has rows') },
    ]);
    expect(done).toEqual(await Promise.all([2, 3, 4, 5, 6, 7].map(async (n) => nameOf(await dayIn(n)))));
    await addMessage();
    await addMessage(await dayIn(1));
    await addMessage(await dayIn(2));
    await addMessage(await dayIn(40));
    expect(await messagesByPartition()).toEqual({ attempt_messages_default: 4, [done[0]!]: 1 });
  });

  test('are made although a process ended in between', async () => {
    await database.query(
      `alter table attempt_messages_default add constraint attempt_messages_default_before check (day < '2026-01-01') not valid`,
    );
    await makePartitions(database, ATTEMPT_MESSAGES);
    await addMessage(await dayIn(40));
    expect(await messagesByPartition()).toEqual({ attempt_messages_default: 1 });
  });
});

describe('partitions past their retention', () => {
  test('are dropped when all of their rows are older', async () => {
    const old = await addPartition(await dayIn(-31), await dayIn(-30));
    const young = await addPartition(await dayIn(-30), await dayIn(-29));
    await addMessage(await dayIn(-31));
    await addMessage(await dayIn(-30));
    expect(await dropPartitions(database, ATTEMPT_MESSAGES, 30)).toEqual({ done: [old], postponed: [] });
    expect(await messagesByPartition()).toEqual({ [young]: 1 });
  });

  test('remain while they are read, and taps do not wait for the end of that', async () => {
    const old = await addPartition(await dayIn(-31), await dayIn(-30));
    const end = await read('attempt_messages');
    const dropping = dropPartitions(database, ATTEMPT_MESSAGES, 30);
    await addMessage();
    expect(await dropping).toEqual({ done: [], postponed: [old] });
    await addMessage();
    await end();
    expect(await dropPartitions(database, ATTEMPT_MESSAGES, 30)).toEqual({ done: [old], postponed: [] });
  });

  test('of the audit trail are never younger than seven years', async () => {
    await expect(dropPartitions(database, TRANSACTION_EVENTS, 365)).rejects.toThrow('append-only');
  });
});

test('a search reads the partitions from the day of its transaction until today', async () => {
  for (let days = 1; days <= 30; days++) await addPartition(await dayIn(-days), await dayIn(1 - days));
  const search = `explain (costs off) select from attempt_messages where acquirer_id = 1 and transaction_id = $1 and ${fromDay('$2::timestamptz')}`;
  const { rows } = await database.query(search, [randomUUID(), new Date(Date.now() - 2 * 86_400_000)]);
  const plan = rows.map((row) => row['QUERY PLAN']).join('\n');
  const [past] = (await mixedPartitions(database, ATTEMPT_MESSAGES)).filter((name) => name.includes('before'));
  const scanned = [...plan.matchAll(/on (attempt_messages_\w+)/g)].map((match) => match[1]!);
  const expected = await Promise.all([-3, -2, -1, 0].map(async (days) => nameOf(await dayIn(days))));
  expect(scanned).toEqual([past, ...expected]);
});

test('the rows of a database become the partition of the past while others write, and are removed with age', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'tapwire-migrations-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const all = join(ROOT, 'src/store/postgres/migrations');
  for (const file of readdirSync(all).filter((name) => Number.parseInt(name, 10) < 34))
    cpSync(join(all, file), join(folder, file));
  const before = await openDatabase(urlOfMissingDatabase(), { maxConnections: 4 });
  onTestFinished(() => before.end());
  await migrate(before, { folder });

  const write = () => before.query(WRITE_BEFORE, [randomUUID()]);
  for (let n = 0; n < 1_000; n++) await write();
  let isOn = true;
  let written = 1_000;
  const writing = (async () => {
    while (isOn) {
      await write();
      written++;
    }
  })();
  await migrate(before);
  isOn = false;
  await writing;

  const count = async (table: string) => (await before.query(`select from ${table}`)).rowCount;
  expect(await count('transaction_events')).toBe(written);
  expect(await count('attempt_messages')).toBe(written);
  const [past] = (await mixedPartitions(before, ATTEMPT_MESSAGES)).filter((name) => name.includes('before'));
  expect(await count(past!)).toBeGreaterThanOrEqual(1_000);
  const { rows: ids } = await before.query(
    'select count(distinct id)::int as ids, max(id)::int as last from transaction_events',
  );
  expect(ids).toEqual([{ ids: written, last: written }]);

  expect(await dropPartitions(before, ATTEMPT_MESSAGES, 30)).toEqual({ done: [], postponed: [] });
  await before.query(`alter table ${past} rename to attempt_messages_before_20250101`);
  expect((await dropPartitions(before, ATTEMPT_MESSAGES, 30)).done).toEqual(['attempt_messages_before_20250101']);
});

/** As a process of the previous version writes. */
const WRITE_BEFORE = `
with event as (insert into transaction_events (acquirer_id, transaction_id, attempt, moves) values (1, $1, 1, '[]'))
insert into attempt_messages (acquirer_id, transaction_id, attempt, kind, number, processor_id, connection, sent_at, took_ms, outcome)
values (1, $1, 1, 'reversal', 1, 1, 'line', now(), 1, 'answered')`;
