import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { ROOT } from '../style/source-files.ts';
import { createTestDatabase, type TestDatabase } from '../support/test-database.ts';

/** The page that states what each stored uniqueness protects. */
const PAGE = readFileSync(join(ROOT, 'src/store/uniqueness.md'), 'utf8');
/** The names of unique indexes end like this; those of other things on the page do not. */
const INDEX_NAME = /`([a-z_]+(?:_pkey|_key|_chain|_by_login|_by_payment_reference|_proposed))`/g;

// A partition has the indexes of its table.
const UNIQUE_INDEXES = `
select i.relname as name from pg_index x join pg_class i on i.oid = x.indexrelid join pg_class c on c.oid = x.indrelid
where c.relnamespace = 'public'::regnamespace and x.indisunique and not c.relispartition order by 1`;

let testDatabase: TestDatabase;
beforeAll(async () => {
  testDatabase = await createTestDatabase();
});
afterAll(() => testDatabase.drop());

test('the page names every unique index of the schema, and none that does not exist', async () => {
  const { rows } = await testDatabase.database.query<{ name: string }>(UNIQUE_INDEXES);
  const named = new Set([...PAGE.matchAll(INDEX_NAME)].map(([, name]) => name!));
  expect([...named].toSorted()).toEqual(rows.map(({ name }) => name).toSorted());
});
