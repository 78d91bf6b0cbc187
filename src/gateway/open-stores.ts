import type { Config } from '../config.ts';
import { JobTable } from '../jobs/job-table.ts';
import { createMandateVault } from '../links/mandate-vault.ts';
import { PostgresDirectory } from '../store/directory/directory.ts';
import { PostgresLinks } from '../store/links/links.ts';
import type { Database } from '../store/postgres/open-database.ts';
import { PostgresCompletions } from '../store/transactions/completions.ts';
import { PostgresRefundStore } from '../store/transactions/refund-store.ts';
import { PostgresTransactionStore } from '../store/transactions/transaction-store.ts';
import type { Closers } from './closers.ts';
import type { Databases } from './open-databases.ts';
import { openKeyRing } from './open-key-ring.ts';

/** Makes what tells of faults in the background, each under its own words. */
export type Report = (what: string) => (error: unknown) => void;

export type Stores = Awaited<ReturnType<typeof openStores>>;

/** Keys and everything on Postgres that each role needs. */
export async function openStores(config: Config, databases: Databases, report: Report, closers: Closers) {
  const keys = await openKeyRing(config, report('the key file cannot be used; its last keys stay'));
  closers.push(() => keys.close());
  const jobs = await JobTable.open(databases.jobs, report('the job table reports a fault'), config.DATABASE_BACKEND);
  closers.push(() => jobs.close());
  const directory = await PostgresDirectory.open(databases.reports);
  closers.push(() => directory.close());
  const parts: StoreParts = { keys, jobs, lists: databases.reports, report, closers };
  return { keys, jobs, directory, ...storesOn(databases.taps, parts), ofJobs: storesOn(databases.jobs, parts) };
}

interface StoreParts {
  readonly keys: Awaited<ReturnType<typeof openKeyRing>>;
  readonly jobs: JobTable;
  readonly lists: Database;
  readonly report: Report;
  readonly closers: Closers;
}

/** What use cases read and write: once for taps, once for jobs, so that a commit of the one never waits for the other's. */
function storesOn(database: Database, { keys, jobs, lists, report, closers }: StoreParts) {
  const store = new PostgresTransactionStore(database, jobs, report('an answer could not be recorded'), lists);
  closers.push(() => store.close());
  const refunds = new PostgresRefundStore(database, jobs);
  closers.push(() => refunds.close());
  const completions = new PostgresCompletions(database);
  closers.push(() => completions.close());
  const links = new PostgresLinks(database, jobs, createMandateVault(keys));
  closers.push(() => links.close());
  return { store, refunds, completions, links };
}
