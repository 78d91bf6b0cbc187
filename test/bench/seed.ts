import { mkdirSync } from 'node:fs';
import { readConfig } from '../../src/start/config.ts';
import { prepareDatabase } from '../../src/start/open-stores.ts';
import { seedTransactions } from '../support/seed-transactions.ts';
import type { BenchOptions } from './run.ts';

export const DEFAULT_ROWS = 10_000_000;
export const MERCHANTS = 1_000;
export const INTEGRATORS = 20;

/**
 * Fills the database in `--data` (or DATABASE_URL) with `--rows` transactions, unless it contains them; for `bench --
 * http`.
 */
export async function bench({ rows = DEFAULT_ROWS, data = '.tapwire-bench' }: BenchOptions): Promise<void> {
  mkdirSync(data, { recursive: true });
  const { database, stop } = await prepareDatabase(readConfig({ ...process.env, TAPWIRE_DATA: data }));
  try {
    await seedOnce(database, rows);
  } finally {
    await stop();
  }
}

type Database = Parameters<typeof seedTransactions>[0];

export async function seedOnce(database: Database, rows: number): Promise<void> {
  const there = await database.query(
    `select from merchant_references where merchant_reference = $1 and acquirer_id = 1 and
    merchant_id = any(array(select id from merchants where acquirer_id = 1))`,
    [`order-${rows}`],
  );
  if (there.rowCount === 1) return;
  const startedAtMs = performance.now();
  const onProgress = (done: number) => {
    const seconds = (performance.now() - startedAtMs) / 1_000;
    if (done % 500_000 === 0 || done === rows) console.log(`${done} rows, ${Math.round(done / seconds)}/s`);
  };
  await seedTransactions(database, {
    rows,
    merchants: MERCHANTS,
    integrators: INTEGRATORS,
    isOfYear: true,
    onProgress,
  });
}
