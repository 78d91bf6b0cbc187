import { afterAll, beforeAll, expect, test } from 'vitest';
import { loadProcessors } from '../../src/kits/processor-kit/load-processors.ts';
import { verifyLedger } from '../../src/tools/ledger/verify-ledger.ts';
import { seedBooks, seededLedger } from '../support/seed-books.ts';
import { saveTenants } from '../support/tenants.ts';
import { createTestDatabase, type TestDatabase } from '../support/test-database.ts';

/** With plans for a table of few rows this took more than two minutes; with others it takes seconds. */
const ROWS = 40_000;
const PENDING = ROWS / 10;

const GROWING = ['transactions', 'transaction_events', 'webhook_events'];
/** With the partitions of those that are partitioned. */
const TABLES = `select relid::regclass::text as name from unnest($1::text[]) as root, pg_partition_tree(root::regclass) where isleaf`;
const EMPTY = `set session_replication_role = replica; truncate ${GROWING.join()}, webhook_attempts, webhook_endpoints cascade;
  reset session_replication_role`;

// Some events still to be delivered, and some reversals in progress, each with its job.
const PENDING_EVENTS = `
with pending as (
  update webhook_events set state = 'pending' where ctid = any (array(select ctid from webhook_events limit ${PENDING})) returning *
)
insert into pgboss.job (name, data, retry_limit, expire_seconds, deletion_seconds, keep_until)
select 'webhook', jsonb_build_object('acquirerId', acquirer_id, 'eventId', id, 'endpointId', endpoint_id, 'round', 1, 'delivery', 1),
  10, 60, 3600, now() + interval '1 day' from pending`;
const OPEN_REVERSALS = `
with open as (
  update transactions set reversal_state = 1 where ctid = any (array(select ctid from transactions where disposition = 5)) returning *
)
insert into pgboss.job (name, data, retry_limit, expire_seconds, deletion_seconds, keep_until)
select 'reverse', jsonb_build_object('acquirerId', acquirer_id, 'id', id, 'attempt', attempt), 10, 60, 3600, now() + interval '1 day'
from open`;

let testDatabase: TestDatabase;
beforeAll(async () => {
  testDatabase = await createTestDatabase();
  const { database } = testDatabase;
  const processor = (await loadProcessors()).get('type-1')!;
  await saveTenants(database, { type: 'type-1', config: processor.exampleConfig });
  // The statistics of a gateway that has just been started, which nothing updates.
  const { rows: tables } = await database.query<{ name: string }>(TABLES, [GROWING]);
  for (const { name } of tables) await database.query(`alter table ${name} set (autovacuum_enabled = false)`);
  await seedBooks(database, 2);
  await database.query('analyze');
  await database.query(EMPTY);
  await seedBooks(database, ROWS);
  await database.query(PENDING_EVENTS);
  await database.query(OPEN_REVERSALS);
});
afterAll(() => testDatabase.drop());

test('the books are verified in one pass with any statistics', async () => {
  const types = await loadProcessors();
  const findings = await verifyLedger({ database: testDatabase.database, ledger: seededLedger(ROWS), types });
  expect(findings.map(({ check, lookedAt, violationCount }) => [check, lookedAt, violationCount])).toEqual([
    ['I1', 36_000, 0],
    ['I2', 800, 0],
    ['I3', 35_200, 0],
    ['I4', 36_000, 0],
    ['I5', 40_000, 0],
    ['I6', 40_000, 0],
    ['I7', 40_800, 0],
    ['I8', 36_000, 0],
    ['F', 0, 0],
    ['J', 800, 0],
    ['R', 0, 0],
  ]);
});
