import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { ROOT } from '../../style/source-files.ts';
import { createTestDatabase, type TestDatabase } from '../../support/test-database.ts';

/** The schema documents the database. */
let testDatabase: TestDatabase;
beforeAll(async () => {
  testDatabase = await createTestDatabase();
});
afterAll(() => testDatabase.drop());

const TEXT = readFileSync(join(ROOT, 'src/store/postgres/migrations/0001_schema.sql'), 'utf8');
const LINES = TEXT.split('\n');

/** The introduction explains these columns for every table. */
const EXPLAINED_ONCE = [
  ...['acquirer_id', 'created_at', 'updated_at', 'is_only'],
  ...['integrator_id', 'merchant_id', 'transaction_id', 'processor_id', 'process_id'],
];

const COLUMNS = `
select c.relname as table, a.attname as name from pg_class c join pg_attribute a on a.attrelid = c.oid
where c.relnamespace = 'public'::regnamespace and c.relkind in ('r', 'p') and not c.relispartition
  and c.relname <> 'migrations' and a.attnum > 0 and not a.attisdropped`;

/** Indexes without a constraint, of tables that are no dated partition. */
const INDEXES = `
select i.indexrelid::regclass::text as name from pg_index i join pg_class t on t.oid = i.indrelid
where t.relnamespace = 'public'::regnamespace and t.relname <> 'migrations' and not t.relispartition
  and not exists (select from pg_constraint c where c.conindid = i.indexrelid)`;

async function namesOf(text: string): Promise<{ table: string; name: string }[]> {
  return (await testDatabase.database.query<{ table: string; name: string }>(text)).rows;
}

/** Whether a comment stands before a line, or before other statements of the same kind that stand directly above it. */
function isCommented(line: number, sibling: RegExp): boolean {
  if (line < 0) return false;
  if (line > 0 && /^\s*-- \S/.test(LINES[line - 1]!)) return true;
  const above = LINES.slice(0, line).findLastIndex((each) => sibling.test(each));
  const isAdjacent = above >= 0 && !LINES.slice(above, line).includes('');
  return isAdjacent && isCommented(above, sibling);
}

const NONE = /(?!)/;

test('each table has a comment', async () => {
  const tables = new Set((await namesOf(COLUMNS)).map(({ table }) => table));
  expect(tables.size).toBeGreaterThan(40);
  const lineOf = (table: string) => LINES.findIndex((line) => new RegExp(`^create .*table ${table} `).test(line));
  expect([...tables].filter((table) => !isCommented(lineOf(table), NONE))).toEqual([]);
});

test('each column has a comment', async () => {
  const missing = (await namesOf(COLUMNS)).filter(({ table, name }) => {
    if (EXPLAINED_ONCE.includes(name)) return false;
    const begin = LINES.findIndex((line) => new RegExp(`^create .*table ${table} `).test(line));
    const line = LINES.findIndex((each, index) => index > begin && each.startsWith(`  ${name} `));
    return !LINES[line]?.includes(' -- ') && !isCommented(line, NONE);
  });
  expect(missing).toEqual([]);
});

test('each index has a comment', async () => {
  const indexes = await namesOf(INDEXES);
  expect(indexes.length).toBeGreaterThan(30);
  const lineOf = (name: string) => LINES.findIndex((line) => new RegExp(`^create .*index ${name}\\b`).test(line));
  expect(indexes.filter(({ name }) => !isCommented(lineOf(name), /^create index /))).toEqual([]);
});

test('the first months of the audit trail refuse changes, as later ones do', async () => {
  const { rows } = await testDatabase.database.query<{ name: string; triggers: string[] }>(`
    select c.relname as name, array(select tgname::text from pg_trigger where tgrelid = c.oid) as triggers
    from pg_inherits i join pg_class c on c.oid = i.inhrelid where i.inhparent = 'transaction_events'::regclass`);
  expect(rows).toHaveLength(4);
  for (const { name, triggers } of rows) expect(triggers).toContain(`${name}_append_only`);
});
