import { randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import pg from 'pg';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { Database } from '../../../src/store/postgres/open-database.ts';
import {
  ATTEMPT_MESSAGES,
  dropPartitions,
  fromDay,
  makePartitions,
  TRANSACTION_EVENTS,
} from '../../../src/store/postgres/partitions.ts';
import { purge } from '../../../src/store/transactions/purge.ts';
import { partitionFindings } from '../../../src/tools/doctor/database-findings.ts';
import { ROOT } from '../../style/source-files.ts';
import { createTestDatabase, type TestDatabase } from '../../support/test-database.ts';

const RETENTION = { cardDays: 7, auditDays: 2_557, webhookDays: 30, linkDays: 90, messageDays: 30 };

const CONSTRAINTS_OF_DEFAULT = `select conname from pg_constraint where conname like 'attempt_messages_default%'`;

let testDatabase: TestDatabase;
let database: Database;
beforeEach(async () => {
  testDatabase = await createTestDatabase();
  database = testDatabase.database;
  await remakePartitions();
});
afterEach(() => testDatabase.drop());

/** Replaces the partitions of the template's days, which was perhaps migrated before midnight, by those of today. */
async function remakePartitions(): Promise<void> {
  for (const table of [TRANSACTION_EVENTS, ATTEMPT_MESSAGES]) {
    const made = (await partitionsOf(table.name)).filter((name) => /_\d{8}$/.test(name));
    await database.query(`drop table ${made.join()}`);
    await makePartitions(database, table);
  }
}

/** A day before or after today, as the database counts them. */
async function dayIn(days: number): Promise<string> {
  const { rows } = await database.query<{ day: string }>(
    `select to_char((clock_timestamp() at time zone 'UTC')::date + $1::integer, 'YYYY-MM-DD') as day`,
    [days],
  );
  return rows[0]!.day;
}

/** The first day of a month after the present one. */
async function monthIn(months: number): Promise<string> {
  const { rows } = await database.query<{ day: string }>(
    `select to_char(date_trunc('month', now() at time zone 'UTC') + $1 * interval '1 month', 'YYYY-MM-DD') as day`,
    [months],
  );
  return rows[0]!.day;
}

const nameOf = (day: string) => `attempt_messages_${day.replaceAll('-', '')}`;

async function addMessage(day: string | null = null, to: Database = database): Promise<void> {
  await to.query(
    `insert into attempt_messages (acquirer_id, transaction_id, sent_at, took_ms, processor_id, attempt, number, kind, connection, outcome, day)
     values (1, $1, now(), 1, 1, 1, 1, 'reversal', 'line', 'responded', coalesce($2::date, (now() at time zone 'UTC')::date))`,
    [randomUUID(), day],
  );
}

async function addEvent(day: string, to: Database = database): Promise<string> {
  const id = randomUUID();
  await to.query(
    `insert into transaction_events (acquirer_id, transaction_id, attempt, moves, day) values (1, $1, 1, '[]', $2::date)`,
    [id, day],
  );
  return id;
}

async function partitionsOf(table: string): Promise<string[]> {
  const { rows } = await database.query<{ name: string }>(
    'select inhrelid::regclass::text as name from pg_inherits where inhparent = $1::regclass order by 1',
    [table],
  );
  return rows.map(({ name }) => name);
}

/** Drops the partitions of these days from today. @returns their names */
async function dropDays(...days: number[]): Promise<string[]> {
  const names = await Promise.all(days.map(async (each) => nameOf(await dayIn(each))));
  await database.query(`drop table ${names.join()}`);
  return names;
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

/** Runs statements of the manual with other days. @returns the default partition that was not read again */
async function attach(statements: string, days: Readonly<Record<string, string>>): Promise<string | undefined> {
  const inNames = (day: string) => day.replaceAll('-', '');
  const mapped = Object.entries(days).reduce(
    (text, [from, to]) => text.replaceAll(from, to).replaceAll(inNames(from), inNames(to)),
    statements,
  );
  const client = new pg.Client({ connectionString: testDatabase.url });
  await client.connect();
  try {
    const notices: string[] = [];
    client.on('notice', ({ message = '' }) => notices.push(message));
    await client.query('set client_min_messages = debug1');
    for (const statement of mapped.split(/;\n/).filter((each) => each.trim() !== '')) await client.query(statement);
    const proof = notices.find((notice) => notice.startsWith('updated partition constraint for default partition'));
    return proof?.match(/"(.*)" is implied by existing constraints/)?.[1];
  } finally {
    await client.end();
  }
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
    expect(await partitionFindings(database, RETENTION)).toMatchObject([{ verdict: 'good' }]);
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
    await dropDays(0, 1, 2, 3, 4, 5, 6, 7);
    await addMessage();
    expect(await partitionFindings(database, RETENTION)).toMatchObject([
      { verdict: 'warning', description: expect.stringContaining(`none for ${await dayIn(1)}`) },
    ]);
    const { done } = await makePartitions(database, ATTEMPT_MESSAGES);
    expect(await partitionFindings(database, RETENTION)).toMatchObject([
      { verdict: 'warning', description: expect.stringContaining('_default has rows') },
    ]);
    expect(done).toEqual(await Promise.all([1, 2, 3, 4, 5, 6, 7].map(async (n) => nameOf(await dayIn(n)))));
    await addMessage();
    await addMessage(await dayIn(1));
    await addMessage(await dayIn(40));
    expect(await messagesByPartition()).toEqual({ attempt_messages_default: 3, [done[0]!]: 1 });
  });

  test('leave no constraint behind that refuses rows later, although a process ends at any moment', async () => {
    await dropDays(0, 1, 2, 3, 4, 5, 6, 7);
    await addMessage();
    const seen: unknown[] = [];
    const watching = await database.connect();
    let isOn = true;
    const watch = (async () => {
      while (isOn) seen.push(...(await watching.query(CONSTRAINTS_OF_DEFAULT)).rows);
    })();
    await makePartitions(database, ATTEMPT_MESSAGES);
    isOn = false;
    await watch;
    watching.release();
    expect(seen).toEqual([]);
  });

  test('are made by the next run if one is missing before others, which the doctor shows', async () => {
    const [missing] = await dropDays(5);
    expect(await partitionFindings(database, RETENTION)).toMatchObject([
      { verdict: 'warning', description: expect.stringContaining(`none for ${await dayIn(5)}`) },
    ]);
    expect(await makePartitions(database, ATTEMPT_MESSAGES)).toEqual({ done: [missing], postponed: [] });
    expect(await partitionFindings(database, RETENTION)).toMatchObject([{ verdict: 'good' }]);
  });

  test('are attached by hand beside a default partition that is too large, as the manual says, without reading it again', async () => {
    await dropDays(1, 2, 3, 4, 5, 6, 7);
    // Once, so that a midnight during the test changes nothing.
    const [day, nextDay, laterDay] = [await dayIn(2), await dayIn(3), await dayIn(5)];
    const [first, nextFirst] = [await monthIn(1), await monthIn(2)];
    const month = first.replaceAll('-', '');
    await database.query(`drop table transaction_events_${month}`);
    await addMessage(await dayIn(1));
    await addEvent(await dayIn(-40));
    const [finding] = await partitionFindings(database, RETENTION);
    expect(finding).toMatchObject({ advice: expect.stringContaining('A default partition that is too large') });
    const manual = readFileSync(join(ROOT, 'src/observe/README.md'), 'utf8');
    const section = manual.slice(manual.indexOf('## A default partition that is too large'));
    const [messages, events] = [...section.matchAll(/^```sql\n(.*?)^```$/gms)].map(([, statements]) => statements!);
    const names = [
      await attach(messages!, { '2027-01-03': day, '2027-01-04': nextDay }),
      await attach(events!, { '2027-02-01': first, '2027-03-01': nextFirst }),
    ];
    expect(names).toEqual(['attempt_messages_default', 'transaction_events_default']);
    await addMessage(day);
    await addMessage(laterDay);
    expect(await messagesByPartition()).toEqual({ attempt_messages_default: 2, [nameOf(day)]: 1 });
    await addEvent(first);
    await expect(database.query(`update transaction_events_${month} set attempt = 2`)).rejects.toThrow('append-only');
  });

  test('are made around a day of which the default partition has rows, and the purge does the rest', async () => {
    const [before, , after] = await dropDays(5, 6, 7);
    await addMessage(await dayIn(6));
    const errors: unknown[] = [];
    expect(await purge(database, RETENTION, (error) => errors.push(error))).toBe('done');
    expect(errors).toEqual([]);
    expect(await partitionsOf('attempt_messages')).toEqual(expect.arrayContaining([before, after]));
    expect(await messagesByPartition()).toEqual({ attempt_messages_default: 1 });
  });

  test('partitions of the next days that cannot be made stop neither those of other tables nor the deletions', async () => {
    const [missing] = await dropDays(7);
    await database.query(`drop function refuse_change cascade`);
    await database.query(`drop table transaction_events_${(await monthIn(1)).replaceAll('-', '')}`);
    const errors: unknown[] = [];
    expect(await purge(database, RETENTION, (error) => errors.push(error))).toBe('done');
    expect(errors).toEqual([
      expect.objectContaining({
        message: expect.stringContaining('partitions of transaction_events could not be made'),
      }),
    ]);
    expect(await partitionsOf('attempt_messages')).toContain(missing);
    expect((await database.query(`select from purge_marks where kind = 'cards'`)).rowCount).toBe(1);
  });

  test('are made and dropped by two processes at once', async () => {
    const missing = await dropDays(3, 4, 5, 6, 7);
    const old: string[] = [];
    for (let days = 40; days > 32; days--) old.push(await addPartition(await dayIn(-days), await dayIn(1 - days)));
    const both = <Result>(change: () => Promise<Result>) => Promise.all([change(), change()]);
    const made = await both(() => makePartitions(database, ATTEMPT_MESSAGES));
    expect(made.flatMap(({ done }) => done).sort()).toEqual(missing);
    const dropped = await both(() => dropPartitions(database, ATTEMPT_MESSAGES, 30));
    expect(dropped.flatMap(({ done }) => done).sort()).toEqual(old);
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

  test('partitions past their retention that remain longer are shown by the doctor', async () => {
    const old = await addPartition(await dayIn(-32), await dayIn(-31));
    await addPartition(await dayIn(-31), await dayIn(-30));
    expect(await partitionFindings(database, RETENTION)).toMatchObject([
      { verdict: 'warning', description: expect.stringMatching(new RegExp(`^${old} should have been dropped`)) },
    ]);
  });

  test('partitions past their retention of the audit trail are never younger than seven years', async () => {
    await expect(dropPartitions(database, TRANSACTION_EVENTS, 365)).rejects.toThrow('append-only');
  });

  test.each(['SQL, DMY', 'German', 'SQL, MDY', 'Postgres, DMY'])('are the same with DateStyle %s', async (style) => {
    const old = await addPartition(await dayIn(-31), await dayIn(-30));
    const [missing] = await dropDays(6);
    const before = [...(await partitionsOf('transaction_events')), ...(await partitionsOf('attempt_messages'))];
    const other = new pg.Pool({
      connectionString: testDatabase.url,
      options: `-c datestyle=${style.replace(' ', '')}`,
    });
    other.on('error', () => {}); // the database is dropped while its connections close
    try {
      expect(await makePartitions(other, TRANSACTION_EVENTS)).toEqual({ done: [], postponed: [] });
      expect(await makePartitions(other, ATTEMPT_MESSAGES)).toEqual({ done: [missing], postponed: [] });
      expect(await dropPartitions(other, TRANSACTION_EVENTS, 2_557)).toEqual({ done: [], postponed: [] });
      expect(await dropPartitions(other, ATTEMPT_MESSAGES, 30)).toEqual({ done: [old], postponed: [] });
    } finally {
      await other.end();
    }
    const after = [...(await partitionsOf('transaction_events')), ...(await partitionsOf('attempt_messages'))];
    expect(before.filter((name) => !after.includes(name))).toEqual([old]);
  });
});

test('events of a database whose clock is set back are found', async () => {
  const id = await addEvent(await dayIn(2));
  const search = `select from transaction_events where acquirer_id = 1 and transaction_id = $1 and ${fromDay('$2::timestamptz')}`;
  expect((await database.query(search, [id, new Date()])).rowCount).toBe(1);
});

test('a search reads the partitions from the day of its transaction on', async () => {
  for (let days = 1; days <= 30; days++) await addPartition(await dayIn(-days), await dayIn(1 - days));
  const search = `explain (costs off) select from attempt_messages where acquirer_id = 1 and transaction_id = $1 and ${fromDay('$2::timestamptz')}`;
  const { rows } = await database.query(search, [randomUUID(), new Date(Date.now() - 2 * 86_400_000)]);
  const plan = rows.map((row) => row['QUERY PLAN']).join('\n');
  const scanned = [...plan.matchAll(/on (attempt_messages_\w+)/g)].map((match) => match[1]!);
  const days = [-3, -2, -1, 0, 1, 2, 3, 4, 5, 6, 7];
  const expected = await Promise.all(days.map(async (day) => nameOf(await dayIn(day))));
  expect(scanned).toEqual([...expected, 'attempt_messages_default']);
});
