import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { ListPosition } from '../../../schemas/console-transactions.ts';
import { Overloaded } from '../../../src/basics/errors.ts';
import type { ListFilter, Wanted } from '../../../src/console/store/list-conditions.ts';
import { type ListedTransaction, TransactionLists } from '../../../src/console/store/transaction-list.ts';
import { seededId, seedTransactions } from '../../support/seed-transactions.ts';
import { createTestDatabase, type TestDatabase } from '../../support/test-database.ts';

const ROWS = 2_000;
/** A second acquirer with rows between those of the first. */
const OTHERS = 20;

let testDatabase: TestDatabase;
let lists: TransactionLists;
beforeAll(async () => {
  testDatabase = await createTestDatabase();
  const { database } = testDatabase;
  await seedTransactions(database, { rows: ROWS, merchants: 20, integrators: 2 });
  await database.query(
    `insert into acquirers (id, name) overriding system value values (2, 'Other') on conflict do nothing`,
  );
  await database.query(
    `insert into transactions (acquirer_id, id, merchant_id, integrator_id, merchant_reference, attempt, status, disposition, type,
       amount_minor, currency, device_installation_id, masked_pan, x_tid, stan, rrn, respond_by, created_at, updated_at)
     select 2, gen_random_uuid(), 'm1', 1, 'other-' || i, 1, 8, 1, 1, 500, 'ZAR', 'device', '555555******4444', 'X2',
       lpad(i::text, 6, '0'), lpad(i::text, 12, '9'), now(), now() - i * interval '7 s', now() from generate_series(1, ${OTHERS}) i`,
  );
  lists = new TransactionLists(database);
});
afterAll(() => testDatabase.drop());

const BOTH = [1, 2];
const query = (filter: ListFilter = {}, wanted: readonly Wanted[] = [], acquirerIds: readonly number[] = BOTH) => ({
  acquirerIds,
  filter,
  wanted,
});
const read = async (...of: Parameters<typeof query>) => (await lists.page(query(...of), undefined, 50)).rows;

function positionOf({ position }: ListedTransaction): ListPosition {
  const [micros, id] = position.split('_');
  return { micros: micros!, id: id! };
}

describe('the list of the console', () => {
  test('is read in turns: a flood of one acquirer delays no other, and is refused', async () => {
    const flood = Array.from({ length: 200 }, () => lists.of(1).page(query({}, [], [1]), undefined, 50));
    const outcomes = Promise.allSettled(flood);
    const ended: string[] = [];
    void outcomes.then(() => ended.push('flood'));
    await Promise.all([lists.of(2).page(query({}, [], [2]), undefined, 50), lists.of(undefined).count(query(), 10)]);
    ended.push('others');
    const refused = (await outcomes).filter(({ status }) => status === 'rejected');
    expect(refused).toHaveLength(200 - 17);
    expect(refused.every((each) => (each as PromiseRejectedResult).reason instanceof Overloaded)).toBe(true);
    expect(ended).toEqual(['others', 'flood']);
  });

  test('has the rows of all acquirers, newest first, on pages without a gap or a repetition', async () => {
    const paged: ListedTransaction[] = [];
    let after: ListPosition | undefined;
    for (let page = 0; page < 20; page++) {
      const { rows } = await lists.page(query(), after, 7);
      paged.push(...rows);
      after = positionOf(rows.at(-1)!);
    }
    const { rows: all } = await lists.page(query(), undefined, 140);
    expect(paged.map(({ id }) => id)).toEqual(all.map(({ id }) => id));
    expect(new Set(paged.map(({ id }) => id)).size).toBe(140);
    expect(new Set(paged.map(({ acquirerId }) => acquirerId))).toEqual(new Set(BOTH));
    const times = paged.map(({ createdAt }) => createdAt.getTime());
    expect(times).toEqual(times.toSorted((one, other) => other - one));
  });

  test.each<[string, ListFilter, (row: ListedTransaction) => boolean]>([
    ['approved', { outcome: 'approved' }, ({ disposition }) => disposition === 0],
    ['declined', { outcome: 'declined' }, ({ disposition }) => disposition === 1],
    ['a merchant', { merchant: 'm2' }, ({ merchantId }) => merchantId === 'm2'],
    ['a terminal', { terminal: 'X2' }, ({ xTid }) => xTid === 'X2'],
    ['a scheme', { scheme: 'Amex' }, ({ scheme }) => scheme === 'Amex'],
    ['amounts', { min: '5', max: '6.00' }, ({ amountMinor }) => amountMinor! >= 500 && amountMinor! <= 600],
    ['a period', { to: new Date(Date.now() - 600_000) }, ({ createdAt }) => createdAt.getTime() < Date.now() - 599_000],
    [
      'several',
      { merchant: 'm0', outcome: 'declined', scheme: 'Visa' },
      (row) => row.merchantId === 'm0' && row.scheme === 'Visa',
    ],
  ])('is filtered by %s', async (_name, filter, fits) => {
    const rows = await read(filter);
    expect(rows.length).toBeGreaterThan(0);
    expect(rows.filter((row) => !fits(row))).toEqual([]);
  });

  test('is filtered by a processor, also after its routes were removed', async () => {
    const { database } = testDatabase;
    await database.query(`insert into processors (acquirer_id, id, type, config) values (1, 1, 'type-1', '{}')`);
    await database.query(
      `insert into routes (acquirer_id, id, processor_id, priority, removed_at) values (1, 1, 1, 1, now())`,
    );
    expect(await lists.count(query({ processor: { acquirer: 1, id: 1 } }), 10_000)).toEqual({
      count: ROWS,
      isMore: false,
    });
    expect(await read({ processor: { acquirer: 2, id: 1 } })).toEqual([]);
  });

  /** A page has 50 rows. */
  test.each<[Wanted, number]>([
    [{ by: 'lastFour', value: '4444' }, OTHERS],
    [{ by: 'lastFour', value: '0000' }, 0],
    [{ by: 'rrn', value: '999999999997' }, 1],
    [{ by: 'stanAndTerminal', value: { stan: '000007', terminal: 'X2' } }, 1],
    [{ by: 'stanAndTerminal', value: { stan: '000007', terminal: 'X3' } }, 0],
    [{ by: 'reference', value: 'order-77' }, 1],
    [{ by: 'amount', value: { major: '1.31', currency: 'ZAR' } }, 1],
    [{ by: 'amount', value: { major: '1.31', currency: 'EUR' } }, 0],
    [{ by: 'merchantName', value: 'CHANT 1' }, 50],
    [{ by: 'merchantName', value: '%' }, 0],
    [{ by: 'id', value: randomUUID() }, 0],
  ])('is searched: %j', async (wanted, found) => {
    expect(await read({}, [wanted])).toHaveLength(found);
  });

  test('has a row once if two meanings of a search term find it', async () => {
    const wanted: Wanted[] = [
      { by: 'reference', value: 'order-77' },
      { by: 'merchantName', value: 'Merchant' },
    ];
    const total = await lists.count(query({ merchant: 'm0' }, wanted), 10_000);
    const { rows } = await lists.page(query({ merchant: 'm0' }, wanted), undefined, 1_000);
    expect(new Set(rows.map(({ id }) => id)).size).toBe(rows.length);
    expect(total).toEqual({ count: rows.length, isMore: false });
  });

  test('has only the acquirers in sight, for any search', async () => {
    const { rows } = await testDatabase.database.query(`select ${seededId('77')} as id`);
    const { id } = rows[0];
    expect(await read({}, [{ by: 'id', value: id }], [2])).toEqual([]);
    expect(await read({}, [], [])).toEqual([]);
    expect((await lists.changes(query({}, [], [2]), undefined, [{ acquirerId: 1, id }], 99)).rows).toEqual([]);
  });

  test('counts up to a limit, and says that there is more', async () => {
    expect(await lists.count(query(), 100)).toEqual({ count: 100, isMore: true });
    expect(await lists.count(query(), ROWS + OTHERS)).toEqual({ count: ROWS + OTHERS, isMore: false });
  });

  test('counts what is newer than a row, and reads shown rows again', async () => {
    const rows = await read();
    const third = rows[2]!;
    const { newer, rows: again } = await lists.changes(query(), positionOf(third), [third], 99);
    expect(newer).toEqual({ count: 2, isMore: false });
    expect(again).toEqual([third]);
  });
});
