import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { migrate } from '../../../src/store/postgres/migrate.ts';
import { type Database, openDatabase } from '../../../src/store/postgres/open-database.ts';
import { eventually } from '../../support/eventually.ts';
import { urlOfMissingDatabase } from '../../support/test-database.ts';

const TABLE = `create table kept (key integer not null);
insert into kept select generate_series(1, 100);
`;
const INDEX = `-- Statement by statement
-- Keys are searched.
create unique index concurrently if not exists kept_by_key on kept (key);

alter table kept set (fillfactor = 90);
`;

let url: string;
let database: Database;
let folder: string;
beforeEach(async () => {
  url = urlOfMissingDatabase();
  database = await openDatabase(url, { maxConnections: 4 });
  folder = mkdtempSync(join(tmpdir(), 'tapwire-migrations-'));
  add('0001_table', TABLE);
});
afterEach(async () => {
  await database.end();
  rmSync(folder, { recursive: true });
});

const add = (name: string, text: string) => writeFileSync(join(folder, `${name}.sql`), text);
const run = (other = database) => migrate(other, { folder, tryAgainMs: 10 });

/** By name, whether each index is valid. */
async function indexes(): Promise<Record<string, boolean>> {
  const { rows } = await database.query<{ name: string; isValid: boolean }>(
    `select indexrelid::regclass::text as name, indisvalid as "isValid" from pg_index where indrelid = 'kept'::regclass`,
  );
  return Object.fromEntries(rows.map(({ name, isValid }) => [name, isValid]));
}

/** A transaction that has done this and is still open. @returns ends it */
async function hold(statement: string): Promise<() => Promise<void>> {
  const holder = await database.connect();
  await holder.query('begin');
  await holder.query(statement);
  return async () => {
    await holder.query('commit');
    holder.release();
  };
}

const waiting = () =>
  eventually(async () => {
    const { rows } = await database.query('select from pg_locks where not granted');
    expect(rows.length).toBeGreaterThan(0);
  });

describe('a migration statement by statement', () => {
  test('creates an index while others write', async () => {
    await run();
    add('0002_index', INDEX);
    const release = await hold('insert into kept values (101)');
    const migrated = run();
    await waiting(); // for the end of that transaction
    await database.query('insert into kept values (102)');
    await release();
    await migrated;
    expect(await indexes()).toEqual({ kept_by_key: true });
    const { rows } = await database.query(`select reloptions from pg_class where oid = 'kept'::regclass`);
    expect(rows).toEqual([{ reloptions: ['fillfactor=90'] }]);
  });

  test('builds an index again that an interrupted run has left invalid', async () => {
    await run();
    await database.query('insert into kept values (1)');
    add('0002_index', INDEX);
    await expect(run()).rejects.toMatchObject({ code: '23505' });
    expect(await indexes()).toEqual({ kept_by_key: false });
    await database.query('delete from kept where key = 1');
    await run();
    expect(await indexes()).toEqual({ kept_by_key: true });
  });

  test('keeps an index that was created beforehand', async () => {
    await run();
    await database.query('create unique index kept_by_key on kept (key)');
    const oid = `select 'kept_by_key'::regclass::oid as oid`;
    const { rows: before } = await database.query(oid);
    add('0002_index', INDEX);
    await run();
    expect((await database.query(oid)).rows).toEqual(before);
  });

  test('is run by one of many starting processes, and the others do not block it', async () => {
    add('0002_index', INDEX);
    const others = await Promise.all(Array.from({ length: 3 }, () => openDatabase(url, { maxConnections: 2 })));
    try {
      await Promise.all(others.map((other) => run(other)));
    } finally {
      for (const other of others) await other.end();
    }
    expect(await indexes()).toEqual({ kept_by_key: true });
  });
});

test('a migration does not wait long for a lock, so that taps are not held up behind it, and is repeated', async () => {
  await run();
  add('0002_column', 'alter table kept add column value integer;\n');
  const release = await hold('select from kept');
  const migrated = run();
  await waiting();
  await database.query('insert into kept values (101)'); // queues behind the migration until that gives up
  const { rows } = await database.query(
    `select from pg_attribute where attrelid = 'kept'::regclass and attname = 'value'`,
  );
  expect(rows).toEqual([]);
  await release();
  await migrated;
  await database.query('insert into kept values (102, 1)');
});

test('an older version does not change the schema of a newer one, and names what it does not know', async () => {
  await run();
  add('0002_column', 'alter table kept add column value integer;\n');
  await run();
  rmSync(join(folder, '0002_column.sql'));
  add('0001_zebra', 'create table zebra (key integer);\n');
  await expect(run()).rejects.toMatchObject({
    code: 'SCHEMA_TOO_NEW',
    message: expect.stringContaining('does not know 0002_column. Start that version'),
  });
  const { rows } = await database.query(`select to_regclass('zebra') as zebra`);
  expect(rows).toEqual([{ zebra: null }]);
});
