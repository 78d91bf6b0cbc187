import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Database } from '../../../src/store/postgres/open-database.ts';
import { listTransactions } from '../../../src/store/transactions/find-transactions.ts';
import type { Tenant, TransactionFilter } from '../../../src/transactions/ports.ts';
import { seededId, seedTransactions } from '../../support/seed-transactions.ts';
import { createTestDatabase, type TestDatabase } from '../../support/test-database.ts';

/** Enough that a plan which reads them all is not the cheapest by accident. */
const ROWS = 40_000;
const PAGE = { limit: 100, offset: 0 };

let testDatabase: TestDatabase;
beforeAll(async () => {
  testDatabase = await createTestDatabase();
  await seedTransactions(testDatabase.database, { rows: ROWS, merchants: 50, integrators: 5 });
});
afterAll(() => testDatabase.drop());

/** A database that explains instead of answering. */
function explaining(plans: string[]): Database {
  return {
    query: async (sql: string, values: unknown[]) => {
      const { rows } = await testDatabase.database.query<{ 'QUERY PLAN': string }>(
        `explain (analyze, buffers) ${sql}`,
        values,
      );
      plans.push(rows.map((row) => row['QUERY PLAN']).join('\n'));
      return { rows: [] };
    },
  } as unknown as Database;
}

async function planOf(tenant: Tenant, filter: Partial<TransactionFilter>): Promise<string> {
  const plans: string[] = [];
  await listTransactions(explaining(plans), tenant, { ...PAGE, ...filter });
  return plans[0]!;
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

describe('every filter of the list finds its page by an index', () => {
  describe.each([
    ['an acquirer', ACQUIRER],
    ['an integrator', INTEGRATOR],
    ['a merchant', MERCHANT],
  ])('for %s', (_, tenant) => {
    test.each(FILTERS)('%s', async (_name, filter) => {
      const plan = await planOf(tenant, filter);
      expect(plan).toMatch(/Index (Only )?Scan.* on transactions/);
      expect(plan).not.toContain('Seq Scan on transactions');
    });

    test('the next page', async () => {
      const { rows } = await testDatabase.database.query<{ id: string }>(`select ${seededId('5000')} as id`);
      const plan = await planOf(tenant, { after: rows[0]!.id });
      expect(plan).not.toContain('Seq Scan on transactions');
      expect(plan).toMatch(/Index (Only )?Scan.* on transactions/);
    });
  });

  test('a page of the newest reads little more than it shows', async () => {
    for (const tenant of [ACQUIRER, INTEGRATOR, MERCHANT]) {
      const plan = await planOf(tenant, {});
      expect(plan).not.toContain('Sort');
      const [, pages] = /Buffers: shared hit=(\d+)/.exec(plan) ?? [];
      expect(Number(pages)).toBeLessThan(400);
    }
  });
});
