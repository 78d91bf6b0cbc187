import { createMandateVault } from '../card/mandate-vault.ts';
import { JobTable } from '../jobs/job-table.ts';
import { PostgresDirectory } from '../store/directory/directory.ts';
import { PostgresLinks } from '../store/links/links.ts';
import type { Database } from '../store/postgres/open-database.ts';
import { AttemptMessages } from '../store/transactions/attempt-messages.ts';
import { PostgresCompletions } from '../store/transactions/completions.ts';
import { PostgresRefundStore } from '../store/transactions/refund-store.ts';
import { PostgresTransactionStore } from '../store/transactions/transaction-store.ts';
import type { Config } from './config.ts';
import type { Databases } from './open-databases.ts';
import { openKeyRing } from './open-key-ring.ts';
import type { Closers, Report } from './opening.ts';

export type Stores = Awaited<ReturnType<typeof openStores>>;

export interface StoreOptions {
  readonly config: Config;
  readonly databases: Databases;
  /** Interval at which settings in the database are followed. */
  readonly settingsEveryMs: number | undefined;
}

/** The keys and everything on Postgres that each role needs. */
export async function openStores(
  { config, databases, settingsEveryMs }: StoreOptions,
  report: Report,
  closers: Closers,
) {
  const keys = await openKeyRing(config, report('key file is unusable, previous keys remain in use'));
  closers.push(() => keys.close());
  const jobs = await JobTable.open(databases.jobs, report('job table reported a fault'), {
    monitorSeconds: config.JOB_MONITOR_SECONDS,
  });
  closers.push(() => jobs.close());
  const directory = await PostgresDirectory.open(databases.directory, settingsEveryMs);
  closers.push(() => directory.close());
  const { taps, commits, reports: lists } = databases;
  const parts: StoreParts = { keys, jobs, lists, report, closers };
  const ofJobs = storesOn({ database: databases.jobs, commits: databases.jobs }, parts);
  return { keys, jobs, directory, ...storesOn({ database: taps, commits }, parts), ofJobs };
}

interface StoreParts {
  readonly keys: Awaited<ReturnType<typeof openKeyRing>>;
  readonly jobs: JobTable;
  readonly lists: Database;
  readonly report: Report;
  readonly closers: Closers;
}

/** The stores of the use cases. Taps and jobs have one each, so that a commit of one never waits for the other's. */
function storesOn(
  { database, commits }: Readonly<Record<'database' | 'commits', Database>>,
  { keys, jobs, lists, report, closers }: StoreParts,
) {
  const store = new PostgresTransactionStore(database, jobs, report('delivery of a response could not be recorded'), {
    lists,
    commits,
  });
  closers.push(() => store.close());
  const refunds = new PostgresRefundStore(database, jobs);
  closers.push(() => refunds.close());
  const completions = new PostgresCompletions(database);
  closers.push(() => completions.close());
  const links = new PostgresLinks(database, jobs, createMandateVault(keys));
  closers.push(() => links.close());
  return { store, refunds, completions, links };
}

/** Keeps masked messages for people. It is closed after the connections that feed it. */
export function openMessages(config: Config, database: Database, report: Report, closers: Closers): AttemptMessages {
  const onError = report('masked messages of attempts could not be stored');
  const messages = new AttemptMessages({ database, kept: config.MESSAGES_KEPT, onError });
  closers.push(() => messages.close());
  return messages;
}
