import { afterAll, beforeAll, expect, test } from 'vitest';
import { createTestDatabase, type TestDatabase } from '../../support/test-database.ts';

/** No key leads from one tenant to another, and a key finds all rows of a tenant. */
let testDatabase: TestDatabase;
beforeAll(async () => {
  testDatabase = await createTestDatabase();
});
afterAll(() => testDatabase.drop());

/** Searched before the tenant is known. */
const EVERYWHERE: Readonly<Record<string, string>> = {
  api_keys: 'a credential names its tenant, not the other way round',
  console_sessions: 'a cookie names its session',
  hsm_keys: 'an id is one key of the HSM of all tenants; the column names the owner',
  idempotency_keys: 'a credential names its tenant; the column only lets a move of the acquirer find the row',
  issuer_keys: 'a token names its issuer',
  used_values:
    'a copy of a tap may be submitted for any tenant; the column only lets a move of the acquirer find the row',
  users: 'a login contains only a name',
};

const UNIQUE_INDEXES = `
select c.relname as table, pg_get_indexdef(x.indexrelid) as definition
from pg_index x join pg_class c on c.oid = x.indrelid
where c.relnamespace = 'public'::regnamespace and x.indisunique
  and exists (select from pg_attribute a where a.attrelid = c.oid and a.attname = 'acquirer_id' and not a.attisdropped)`;

test('every unique key of a tenant begins with the tenant', async () => {
  const { rows } = await testDatabase.database.query<{ table: string; definition: string }>(UNIQUE_INDEXES);
  expect(rows.map(({ table }) => table)).toEqual(expect.arrayContaining(['transactions', 'links', 'webhook_events']));
  const others = rows.filter(({ definition }) => !definition.includes('(acquirer_id'));
  expect(new Set(others.map(({ table }) => table))).toEqual(new Set(Object.keys(EVERYWHERE)));
});

const FOREIGN_KEYS = `
select conrelid::regclass::text as table, pg_get_constraintdef(oid) as definition
from pg_constraint where contype = 'f' and connamespace = 'public'::regnamespace`;
/** Both sides begin with it; `acquirers` are the tenants themselves. */
const BY_TENANT = /^FOREIGN KEY \(acquirer_id(, \w+)*\) REFERENCES (acquirers\(id\)|\w+\(acquirer_id, \w+(, \w+)*\))/;

test('every foreign key stays within a tenant', async () => {
  const { rows } = await testDatabase.database.query<{ table: string; definition: string }>(FOREIGN_KEYS);
  expect(rows.length).toBeGreaterThan(10);
  expect(rows.filter(({ definition }) => !BY_TENANT.test(definition))).toEqual([]);
});
