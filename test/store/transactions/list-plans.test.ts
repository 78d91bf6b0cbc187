import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { Overloaded } from '../../../src/basics/errors.ts';
import type { Tenant, TransactionFilter } from '../../../src/payments/ports/store-ports.ts';
import type { Database } from '../../../src/store/postgres/open-database.ts';
import { createTransactionList } from '../../../src/store/transactions/list-transactions.ts';
import { seededId, seedTransactions } from '../../support/seed-transactions.ts';
import { createTestDatabase, type TestDatabase } from '../../support/test-database.ts';

/** Enough that a plan which reads all of them is not the cheapest by chance. */
const ROWS = 40_000;
const PAGE = { limit: 100, offset: 0 };

let testDatabase: TestDatabase;
beforeAll(async () => {
  testDatabase = await createTestDatabase();
  await seedTransactions(testDatabase.database, { rows: ROWS, merchants: 50, integrators: 5 });
  await seedLinks(testDatabase.database);
});
afterAll(() => testDatabase.drop());

/** Every tenth transaction is the tap on a link. */
async function seedLinks(database: Database): Promise<void> {
  await database.query(`update transactions set consumer_id = id
    where substr(merchant_reference, 7)::int % 10 = 7 and acquirer_id = 1`);
  await database.query(`insert into links (acquirer_id, id, integrator_id, merchant_id, kind, type, payment_reference, amount_minor,
      currency, is_consumer_app, transaction_id, is_expired, expires_at)
    select acquirer_id, id, integrator_id, merchant_id, 'link', 1, 'payment-' || substr(merchant_reference, 7), amount_minor,
      currency, true, id, true, created_at from transactions where consumer_id is not null`);
  await database.query('analyze transactions, links');
}

/**
 * A database that explains statements instead of running them: with the plan for these values, or the generic plan of a
 * named statement.
 */
function explaining(plans: string[], mode: PlanMode): Database {
  return {
    query: async ({ name, text, values }: { name?: string; text: string; values: unknown[] }) => {
      if (mode === 'kept' && name === undefined) return { rows: [] };
      const rows = await (mode === 'kept' ? explainKept(text, values) : explain(text, values));
      plans.push(rows.map((row) => row['QUERY PLAN']).join('\n'));
      return { rows: [] };
    },
  } as unknown as Database;
}

type PlanMode = 'own' | 'kept';
type PlanLines = { 'QUERY PLAN': string }[];

async function explain(text: string, values: unknown[]): Promise<PlanLines> {
  return (await testDatabase.database.query(`explain (analyze, buffers) ${text}`, values)).rows;
}

async function explainKept(text: string, values: unknown[]): Promise<PlanLines> {
  const client = await testDatabase.database.connect();
  try {
    await client.query(`set plan_cache_mode = force_generic_plan; prepare kept as ${text}`);
    const literals = values.map((value) => client.escapeLiteral(String(value))).join(', ');
    return (await client.query(`explain (analyze, buffers) execute kept(${literals})`)).rows;
  } finally {
    client.release(true);
  }
}

/** Undefined if no plan is kept. */
async function planOf(tenant: Tenant, filter: Partial<TransactionFilter>, mode: PlanMode = 'own') {
  const plans: string[] = [];
  await createTransactionList(explaining(plans, mode))(tenant, { ...PAGE, ...filter });
  return plans[0];
}

const ACQUIRER: Tenant = { acquirerId: 1 };
const INTEGRATOR: Tenant = { acquirerId: 1, integratorId: 2 };
const MERCHANT: Tenant = { acquirerId: 1, integratorId: 2, merchantId: 'm1' };

const FILTERS: readonly (readonly [string, Partial<TransactionFilter>])[] = [
  ['nothing', {}],
  ['user', { user: 'till-3' }],
  ['startDate', { startDate: '2020-01-01' }],
  ['startDate and endDate', { startDate: '2020-01-01', endDate: '2099-12-31' }],
  ['minAmount', { minAmount: 10 }],
  ['maxAmount', { maxAmount: 500 }],
  ['merchantReference', { merchantReference: 'order-777' }],
  ['Approved', { disposition: 0 }],
  ['Declined', { disposition: 1 }],
  ['Voided', { disposition: 5 }],
  ['needsReview', { needsReview: true }],
];

/** The partition with the rows; those of the coming months are empty, and read in any way. */
const FILLED = 'transactions_default';

function expectIndex(plan: string | undefined): void {
  expect(plan).toMatch(new RegExp(`Index (Only )?Scan.* on ${FILLED}`));
  expect(plan).not.toContain(`Seq Scan on ${FILLED}`);
}

describe('every filter of the list finds its page with an index', () => {
  describe.each([
    ['an acquirer', ACQUIRER],
    ['an integrator', INTEGRATOR],
    ['a merchant', MERCHANT],
  ])('for %s', (_, tenant) => {
    test.each(FILTERS)('%s', async (_name, filter) => {
      expectIndex(await planOf(tenant, filter));
    });

    test('the next page', async () => {
      const { rows } = await testDatabase.database.query<{ id: string }>(`select ${seededId('5000')} as id`);
      expectIndex(await planOf(tenant, { after: rows[0]!.id }));
    });

    test('a list finds its page with an index also with the plan that a connection keeps, if it keeps one', async () => {
      const { rows } = await testDatabase.database.query<{ id: string }>(`select ${seededId('5000')} as id`);
      for (const [, filter] of FILTERS) {
        const kept = [
          await planOf(tenant, filter, 'kept'),
          await planOf(tenant, { ...filter, after: rows[0]!.id }, 'kept'),
        ];
        for (const plan of kept) if (plan !== undefined) expectIndex(plan);
      }
    });
  });

  test('a payment reference reads little more than the attempts on its link', async () => {
    for (const tenant of [ACQUIRER, INTEGRATOR, MERCHANT]) {
      for (const mode of ['own', 'kept'] as const) {
        for (const filter of [{}, { startDate: '2020-01-01' }, { disposition: 0 }] as const) {
          const plan = await planOf(tenant, { merchantReference: 'payment-777', ...filter }, mode);
          if (plan === undefined) continue;
          expect(plan).toContain(`${FILLED}_acquirer_id_consumer_id_idx`);
          expect(plan).toContain('links_by_any_payment_reference');
          expect(plan).not.toMatch(new RegExp(`Seq Scan on (${FILLED}|links)`));
          const [, pages] = /Buffers: shared hit=(\d+)/.exec(plan) ?? [];
          expect(Number(pages)).toBeLessThan(250);
        }
      }
    }
  });

  test('a rare amount reads little more than it shows', async () => {
    for (const tenant of [ACQUIRER, INTEGRATOR, MERCHANT]) {
      for (const filter of [{ minAmount: 999_999 }, { maxAmount: 0.01 }, { minAmount: 10, maxAmount: 10 }]) {
        expect(await planOf(tenant, filter)).toContain(`${FILLED}_acquirer_id_expr_merchant_id_idx`);
      }
    }
  });

  test('a page of the newest reads little more than it shows', async () => {
    for (const tenant of [ACQUIRER, INTEGRATOR, MERCHANT]) {
      for (const mode of ['own', 'kept'] as const) {
        const plan = await planOf(tenant, {}, mode);
        expect(plan).not.toContain('Sort Method');
        const [, pages] = /Buffers: shared hit=(\d+)/.exec(plan!) ?? [];
        expect(Number(pages)).toBeLessThan(400);
      }
    }
  });
});

describe('lists without an index in their order', () => {
  test.each([
    ['by amount', MERCHANT, { minAmount: 10 }],
    ['behind an offset', MERCHANT, { offset: 100 }],
  ])('%s are read one at a time, and wait for no others', async (_, tenant, filter) => {
    const readers: (() => void)[] = [];
    const query = () => new Promise((resolve) => readers.push(() => resolve({ rows: [] })));
    const list = createTransactionList({ query } as unknown as Database);
    const searches = [1, 2].map(() => list(tenant, { ...PAGE, ...filter }));
    expect(readers).toHaveLength(1);
    const page = list(tenant, PAGE);
    expect(readers).toHaveLength(2);
    readers[1]!();
    await page;
    readers[0]!();
    await searches[0];
    expect(readers).toHaveLength(3);
  });

  test('are refused if too many wait', async () => {
    const list = createTransactionList({ query: () => new Promise(() => {}) } as unknown as Database);
    const wanted = { ...PAGE, minAmount: 10 };
    // Those that wait are refused later, when this test is over.
    const search = (tenant: Tenant) => list(tenant, wanted);
    for (let made = 0; made < 1 + 16; made++) search(ACQUIRER).catch(() => {});
    await expect(search(ACQUIRER)).rejects.toThrow(Overloaded);
    for (let made = 0; made < 48; made++) search({ acquirerId: 1, integratorId: made }).catch(() => {});
    await expect(search({ acquirerId: 2 })).rejects.toThrow(Overloaded);
  });

  test('pages without an index take turns by tenant: a flood of one delays no other', async () => {
    const order: unknown[] = [];
    const query = async ({ values }: { values: unknown[] }) => {
      order.push(values[0]);
      await new Promise(setImmediate);
      return { rows: [] };
    };
    const list = createTransactionList({ query } as unknown as Database);
    const flood = Array.from({ length: 300 }, () => list(MERCHANT, PAGE));
    const outcomes = Promise.allSettled(flood);
    await list({ acquirerId: 2 }, PAGE);
    expect(order.indexOf(2)).toBe(5);
    const refused = (await outcomes).filter(({ status }) => status === 'rejected');
    expect(refused).toHaveLength(300 - 4 - 256);
  });
});
