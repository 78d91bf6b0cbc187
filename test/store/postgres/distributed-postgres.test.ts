import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { JobTable } from '../../../src/jobs/job-table.ts';
import { inTransaction } from '../../../src/store/postgres/group-commit.ts';
import { openDatabase } from '../../../src/store/postgres/open-database.ts';
import { createTestDatabase, type TestDatabase, urlOfMissingDatabase } from '../../support/test-database.ts';

/**
 * The requirements of Citus and YugabyteDB for a schema that is distributed by tenant, as described in
 * src/ops/README.md.
 */
let testDatabase: TestDatabase;
beforeAll(async () => {
  testDatabase = await createTestDatabase();
});
afterAll(() => testDatabase.drop());

/** Searched before the tenant is known, and small: every node has all rows. */
const EVERYWHERE: Readonly<Record<string, string>> = {
  api_keys: 'a credential names its tenant, not the other way round',
  console_sessions: 'a cookie names its session',
  issuer_keys: 'a token names its issuer',
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

describe.each(['citus', 'yugabytedb'] as const)('with pg-boss set to %s', (backend) => {
  test('a job is inserted, fetched and completed as on Postgres', async () => {
    const database = await openDatabase(urlOfMissingDatabase(), { maxConnections: 3 });
    const errors: unknown[] = [];
    const jobs = await JobTable.open(database, (error) => errors.push(error), { backend });
    try {
      const [kept, removed] = [randomUUID(), randomUUID()];
      const data = { acquirerId: 1, id: randomUUID(), attempt: 1 };
      const enqueue = [kept, removed].map((id) => ({ queue: 'overdue', id, data }) as const);
      await inTransaction(database, (client) => jobs.enqueue(client, enqueue));
      await inTransaction(database, (client) => jobs.remove(client, 'overdue', [removed]));
      const [taken, ...others] = await jobs.boss.fetch('overdue', { batchSize: 5, includeMetadata: true });
      expect([taken?.id, others]).toEqual([kept, []]);
      const attempt = { id: kept, retryCount: taken!.retryCount };
      await jobs.finish({ queue: 'overdue', attempt, again: { queue: 'overdue', data, startAfterSeconds: 60 } });
      const { rows } = await database.query(`select state from pgboss.job where name = 'overdue'`);
      expect(rows).toEqual([{ state: 'created' }]);
      expect(errors).toEqual([]);
    } finally {
      await jobs.close();
      const { rows } = await database.query<{ name: string }>('select current_database() as name');
      await database.end();
      await testDatabase.database.query(`drop database ${rows[0]!.name} with (force)`);
    }
  });
});
