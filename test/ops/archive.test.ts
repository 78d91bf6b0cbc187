import { appendFileSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { afterEach, beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import { type Database, openDatabase } from '../../src/store/postgres/open-database.ts';
import { attachPartition, detachPartition, TRANSACTIONS } from '../../src/store/postgres/partitions.ts';
import { adjustReservations } from '../../src/store/transactions/commit-refunds.ts';
import { isReferenceFree } from '../../src/store/transactions/find-transactions.ts';
import { createTransactionList } from '../../src/store/transactions/list-transactions.ts';
import { archiveMonth, listMonths, periodOf, restoreMonth } from '../../src/tools/archive/archive-month.ts';
import { eventually } from '../support/eventually.ts';
import { startInstallation } from '../support/installation.ts';
import { outcomeOf } from '../support/responses.ts';
import { seedTransactions } from '../support/seed-transactions.ts';
import { createTestDatabase, type TestDatabase } from '../support/test-database.ts';

const MONTH = '2025-03';
const TABLE = 'transactions_20250301';
const ROWS = 300;
const ROW = `acquirer_id = 1 and merchant_reference = 'order-17'`;

let testDatabase: TestDatabase;
let database: Database;
let copies: Database;
let folder: string;
beforeEach(async () => {
  testDatabase = await createTestDatabase();
  ({ database } = testDatabase);
  copies = await openDatabase(testDatabase.url, { maxConnections: 1, runsCopy: true });
  folder = mkdtempSync(join(tmpdir(), 'tapwire-archive-'));
  await attachPartition(database, TRANSACTIONS, await periodOf(database, MONTH), true);
  await seedTransactions(database, { rows: ROWS, merchants: 5, integrators: 2 });
  for (const table of ['transactions', 'merchant_references'])
    await database.query(
      `update ${table} set id = (left(first_id('2025-03-10')::text, 14) || substr(id::text, 15))::uuid`,
    );
  await database.query(
    `update transactions set created_at = '2025-03-10', masked_pan = E'a "quoted", \\n text', latitude = ''`,
  );
});
afterEach(async () => {
  await copies.end();
  await testDatabase.drop();
  rmSync(folder, { recursive: true });
});

const parts = () => ({ database, copies, folder, nowMs: Date.now(), say: () => {} });
const archive = () => archiveMonth(parts(), MONTH);
const restore = () => restoreMonth(parts(), MONTH);
const csvPath = () => join(folder, `transactions-${MONTH}.csv.gz`);

/** Every value of every row. */
async function content(): Promise<string> {
  const { rows } = await database.query(
    `select md5(string_agg(t::text, '|' order by id)) as content from transactions t`,
  );
  return rows[0].content;
}

async function shown(): Promise<number> {
  const list = createTransactionList(database);
  return (await list({ acquirerId: 1 }, { limit: 500, offset: 0 })).length;
}

test('a month is written to a file, leaves the database, and comes back with every value', async () => {
  const before = await content();
  const { rows, totals } = await archive();
  expect(rows).toBe(ROWS);
  expect(totals.reduce((sum, total) => sum + total.rows, 0)).toBe(ROWS);
  expect(await shown()).toBe(0);
  expect((await listMonths(database)).map(({ month }) => month)).not.toContain(MONTH);
  const [header, ...lines] = gunzipSync(readFileSync(csvPath())).toString().split('\n');
  expect(header).toMatch(/^acquirer_id,integrator_id,id,/);
  expect(header).not.toMatch(/sealed_card|handover/);
  expect(lines.filter((line) => /^\d+,\d+,0195/.test(line))).toHaveLength(ROWS);

  await restore();
  expect(await content()).toBe(before);
  expect(await shown()).toBe(ROWS);
  expect((await listMonths(database)).find(({ month }) => month === MONTH)?.state).toBe('old');
  const { rows: indexes } = await database.query(
    `select count(*)::int as count from pg_index where indrelid in ('${TABLE}'::regclass, 'transactions_default'::regclass) group by indrelid`,
  );
  expect(indexes[0]).toEqual(indexes[1]);
  await archive(); // again
  expect(await shown()).toBe(0);
});

test('a reference stays used, and a link held, when their month is archived', async () => {
  await database.query(`update transactions set consumer_id = id, disposition = 0 where ${ROW}`);
  await database.query(`insert into links (acquirer_id, id, integrator_id, merchant_id, kind, type, payment_reference, amount_minor,
      currency, is_consumer_app, transaction_id, expires_at)
    select acquirer_id, id, integrator_id, merchant_id, 'link', 1, 'payment', 100, 'ZAR', false, id, now() + interval '1 day'
    from transactions where ${ROW}`);
  const { rows } = await database.query(`select merchant_id as merchant, id from transactions where ${ROW}`);
  await archive();
  expect(await isReferenceFree(database, 1, rows[0].merchant, 'order-17')).toBe(false);
  const held = await database.query('select is_held_by_archived as held from links');
  expect(held.rows).toEqual([{ held: true }]);
});

describe('a month is refused', () => {
  test.each([
    ['with a tap in progress', 'status = 4'],
    ['with a reversal that no switch has acknowledged', 'reversal_state = 2'],
    ['with a review', 'needs_review = true'],
    ['with card data', `sealed_card = '\\x00'`],
    ['with a void in progress', 'void_state = 1'],
    ['with a PIN that is awaited', 'pin_state = 1'],
    ['with a reference that was submitted again', "sent_at = now() - interval '100 days'"],
  ])('%s, and stays as it was', async (_, change) => {
    await database.query(`update transactions set ${change} where ${ROW}`);
    const { rows } = await database.query(`select id from transactions where ${ROW}`);
    await expect(archive()).rejects.toThrow(rows[0].id);
    expect(await shown()).toBe(ROWS);
  });

  test('with a sale whose refund in a later month has not ended', async () => {
    await database.query(`insert into transactions (acquirer_id, integrator_id, id, created_at, respond_by, attempt, type, merchant_id,
        merchant_reference, device_installation_id, original_id, status, updated_at)
      select acquirer_id, integrator_id, first_id(now()), now(), now(), 1, 4, merchant_id, 'refund', '', id, 4, now()
      from transactions where ${ROW}`);
    await expect(archive()).rejects.toThrow('MONTH_NOT_ENDED');
  });

  test('with a refund whose sale is of another month, until that month is archived', async () => {
    await attachPartition(database, TRANSACTIONS, await periodOf(database, '2025-02'), true);
    const { rows } = await database.query(
      `update transactions set type = 4, disposition = 0, original_id = first_id('2025-02-10') where ${ROW} returning id, amount_minor`,
    );
    await database.query(
      `insert into transactions (acquirer_id, integrator_id, id, created_at, respond_by, attempt, type, merchant_id, merchant_reference,
        device_installation_id, status, disposition, amount_minor, currency, refunded_minor, updated_at)
      select acquirer_id, integrator_id, original_id, '2025-02-10', now(), 1, 1, merchant_id, 'sale', '', 8, 0, 2 * amount_minor, currency,
        amount_minor, now() from transactions where ${ROW}`,
    );
    await expect(archive()).rejects.toThrow(rows[0].id);
    // A refund that ends without a return of money must not release what the other one has returned.
    const client = await database.connect();
    const [refund] = (
      await client.query(
        `select acquirer_id as "acquirerId", original_id as "originalId", type from transactions where ${ROW}`,
      )
    ).rows;
    await adjustReservations(client, [refund]);
    client.release();
    const left = await database.query(`select refunded_minor from transactions where merchant_reference = 'sale'`);
    expect(left.rows).toEqual([{ refunded_minor: rows[0].amount_minor }]);
    await archiveMonth(parts(), '2025-02');
    expect((await archive()).rows).toBe(ROWS);
  });

  test('that ended a short time ago, that does not exist, and that is no month', async () => {
    const now = new Date().toISOString().slice(0, 7);
    await expect(archiveMonth(parts(), now)).rejects.toThrow('ended less than');
    await expect(archiveMonth(parts(), '2020-01')).rejects.toThrow('no partition');
    for (const month of ['', '2025-13', '2025-3', "2025-03'", '../2025-03'])
      await expect(archiveMonth(parts(), month)).rejects.toThrow('Expected a month');
  });

  test('while an acquirer is being moved between cells', async () => {
    await database.query(
      `insert into acquirer_cells (acquirer_id, generation, state, peer) values (1, 1, 'leaving', 'other')`,
    );
    await expect(archive()).rejects.toThrow('being moved');
  });
});

describe('an archiving that was interrupted', () => {
  beforeEach(async () => {
    await detachPartition(database, TRANSACTIONS, TABLE);
    writeFileSync(`${csvPath()}.incomplete`, 'half');
  });

  test('is continued by the same command', async () => {
    expect((await listMonths(database))[0]).toMatchObject({ month: MONTH, state: 'detached' });
    expect((await archive()).rows).toBe(ROWS);
    await restore();
    expect(await shown()).toBe(ROWS);
  });

  test('is undone by restore', async () => {
    await restore();
    expect(await shown()).toBe(ROWS);
  });
});

describe('an archive that was damaged is refused, and nothing of it is restored', () => {
  const manifestPath = () => join(folder, `transactions-${MONTH}.json`);
  const changeManifest = (change: (manifest: Record<string, unknown>) => object) =>
    writeFileSync(manifestPath(), JSON.stringify(change(JSON.parse(readFileSync(manifestPath(), 'utf8')))));

  test.each<[string, () => void]>([
    ['a changed byte', () => writeFileSync(csvPath(), readFileSync(csvPath()).with(-20, 0))],
    ['a longer file', () => appendFileSync(csvPath(), 'more')],
    ['a shorter file', () => writeFileSync(csvPath(), readFileSync(csvPath()).subarray(0, -100))],
    ['no file', () => rmSync(csvPath())],
    ['no manifest', () => rmSync(manifestPath())],
    ['a manifest that is no JSON', () => writeFileSync(manifestPath(), '{')],
    ['another month', () => changeManifest((manifest) => ({ ...manifest, month: '2025-04' }))],
    ['other totals', () => changeManifest((manifest) => ({ ...manifest, totals: [] }))],
    ['a column that is SQL', () => changeManifest((manifest) => ({ ...manifest, columns: ['id) from program'] }))],
    ['a missing column', () => changeManifest((manifest) => ({ ...manifest, columns: ['id'] }))],
  ])('%s', async (_, damage) => {
    await archive();
    damage();
    await expect(restore()).rejects.toThrow();
    expect(await shown()).toBe(0);
    expect((await listMonths(database)).map(({ month }) => month)).not.toContain(MONTH);
  });
});

test('an order whose transaction was archived is refused when it is repeated', async () => {
  const installation = await startInstallation();
  onTestFinished(() => installation.stop());
  const { serviceReference, merchantReference } = outcomeOf(
    await installation.phone().tap({ amount: '10.00', currency: 'ZAR' }),
  );
  const other = await openDatabase(installation.environment().DATABASE_URL!, { maxConnections: 1, runsCopy: true });
  onTestFinished(() => other.end());
  await attachPartition(installation.database, TRANSACTIONS, await periodOf(installation.database, MONTH), true);
  await eventually(async () => {
    const { rows } = await installation.database.query(`select from transactions where id = $1 and status = 8`, [
      serviceReference,
    ]);
    expect(rows).toHaveLength(1);
  });
  const old = `(left(first_id('2025-03-10')::text, 14) || substr(id::text, 15))::uuid`;
  await installation.database.query(`update merchant_references set id = ${old} where id = $1`, [serviceReference]);
  await installation.database.query(
    `update transactions set id = ${old}, sealed_card = null, sent_at = '2025-03-10' where id = $1`,
    [serviceReference],
  );
  await archiveMonth({ ...parts(), database: installation.database, copies: other }, MONTH);
  const repeated = await installation.phone().tap({ amount: '10.00', currency: 'ZAR', merchantReference });
  expect(repeated).toMatchObject({ status: 409 });
  expect(installation.asked.authorizations).toBe(1);
});
