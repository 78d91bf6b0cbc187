import { join } from 'node:path';
import type pg from 'pg';
import { createMandateVault } from '../card/card-vault.ts';
import type { KeyRing } from '../card/key-ring.ts';
import { JobTable } from '../jobs/job-table.ts';
import { LineLocks } from '../store/cells/advisory-locks.ts';
import { CellWatch, claimName, keyNames, refuseInCell } from '../store/cells/cell-watch.ts';
import { PostgresDirectory } from '../store/directory/directory.ts';
import { PostgresLinks } from '../store/links/links.ts';
import { startEmbeddedPostgres } from '../store/postgres/embedded-postgres.ts';
import { migrate } from '../store/postgres/migrate.ts';
import { type Database, openDatabase, openPool } from '../store/postgres/open-database.ts';
import { SESSION_LIMITS } from '../store/postgres/session-limits.ts';
import type { KnownDatabase } from '../store/switches/known-database.ts';
import { AttemptMessages } from '../store/transactions/attempt-messages.ts';
import { PostgresCompletions } from '../store/transactions/completions.ts';
import { postgresRestoreHolds } from '../store/transactions/lost-window.ts';
import { PostgresRefundStore } from '../store/transactions/refund-store.ts';
import { PostgresTransactionStore } from '../store/transactions/transaction-store.ts';
import type { AcquirerSwitches } from '../switching/switches/acquirer-switches.ts';
import type { Config } from './config.ts';
import { openKeyRing } from './open-key-ring.ts';
import type { Closers, Opening } from './opening.ts';

export type Stores = Awaited<ReturnType<typeof openStores>>;

/**
 * The keys and everything on Postgres that each role needs.
 *
 * @param settingsEveryMs interval at which settings in the database are followed
 */
export async function openStores(
  opening: Omit<Opening, 'log'>,
  databases: Databases,
  settingsEveryMs: number | undefined,
) {
  const { config, report, closers } = opening;
  const keys = await openKeyRing(config, report('key file is unusable, previous keys remain in use'));
  closers.push(() => keys.close());
  const jobs = await JobTable.open(databases.jobs, report('job table reported a fault'), {
    monitorSeconds: config.JOB_MONITOR_SECONDS,
  });
  closers.push(() => jobs.close());
  const directory = await PostgresDirectory.open(databases.directory, settingsEveryMs);
  closers.push(() => directory.close());
  const { taps, commits, reports: lists } = databases;
  const own = { keys, jobs, lists };
  const ofJobs = storesOn(opening, { ...own, database: databases.jobs, commits: databases.jobs });
  return { keys, jobs, directory, ...storesOn(opening, { ...own, database: taps, commits }), ofJobs };
}

/** The stores of the use cases. Taps and jobs have one each, so that a commit of one never waits for the other's. */
function storesOn(
  { report, closers }: Pick<Opening, 'report' | 'closers'>,
  {
    keys,
    jobs,
    database,
    commits,
    lists,
  }: { readonly keys: KeyRing; readonly jobs: JobTable } & Readonly<Record<'database' | 'commits' | 'lists', Database>>,
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
  return { store, refunds, completions, links, restoreHolds: postgresRestoreHolds(database) };
}

/** Keeps masked messages for people. It is closed after the connections that feed it. */
export function openMessages({ config, report, closers }: Omit<Opening, 'log'>, database: Database): AttemptMessages {
  const onError = report('masked messages of attempts could not be stored');
  const messages = new AttemptMessages({ database, kept: config.MESSAGES_KEPT, onError });
  closers.push(() => messages.close());
  return messages;
}

/** Connections besides `DATABASE_CONNECTIONS`: for a list or two. */
const REPORT_CONNECTIONS = 2;
/** For the configuration: what an acquirer has revoked must be known in seconds, also while lists take long. */
const DIRECTORY_CONNECTIONS = 1;
/** Masked messages are written by one COPY at a time. */
const MESSAGE_CONNECTIONS = 1;
/** While one statement of a job runs, another job can complete. */
const LEAST_JOB_CONNECTIONS = 2;
/** The remaining connections serve taps. */
const SHARE_OF_JOBS = 1 / 3;
/**
 * Half of those for taps: new taps, their outcomes, responses, reversals and PIN attempts each have one commit at a time,
 * and the first three have one nearly always.
 */
const SHARE_OF_COMMITS = 1 / 2;
/** In roles `api` and `worker`: the connection that receives notifications. */
const LISTENING_CONNECTIONS = 1;

/**
 * The connection pools of a process. Each has one purpose and the limits of that purpose. Slow or numerous work in
 * one pool takes no connection from another: ten thousand reversals after an outage do not delay a tap.
 *
 * - commits: the statuses of taps, in group commits
 * - taps: all other work that a customer waits for, and short work
 * - jobs: the queues and what jobs write
 * - messages: the masked messages of taps, by COPY
 * - directory: the configuration of all tenants
 * - reports: long reads (lists, figures) and the purge
 */
export type Databases = Readonly<Record<'commits' | 'taps' | 'jobs' | 'messages' | 'directory' | 'reports', Database>>;

/** @param known refuses connections that lead to another database, in the pools that commit payments */
export function openDatabases(url: string, connections: number, known: KnownDatabase, closers: Closers): Databases {
  const ofJobs = Math.max(LEAST_JOB_CONNECTIONS, Math.floor(connections * SHARE_OF_JOBS));
  const ofCommits = Math.floor((connections - ofJobs) * SHARE_OF_COMMITS);
  const ofTaps = connections - ofJobs - ofCommits;
  const admit = (client: pg.ClientBase) => known.admit(client);
  const databases = {
    commits: openPool(url, { maxConnections: ofCommits, limits: SESSION_LIMITS.tap, runsBatches: true, admit }),
    taps: openPool(url, { maxConnections: ofTaps, limits: SESSION_LIMITS.tap, admit }),
    jobs: openPool(url, { maxConnections: ofJobs, limits: SESSION_LIMITS.job, admit }),
    messages: openPool(url, { maxConnections: MESSAGE_CONNECTIONS, limits: SESSION_LIMITS.job, runsCopy: true }),
    directory: openPool(url, { maxConnections: DIRECTORY_CONNECTIONS, limits: SESSION_LIMITS.report }),
    reports: openPool(url, { maxConnections: REPORT_CONNECTIONS, limits: SESSION_LIMITS.report }),
  };
  closers.push(() => Promise.all(Object.values(databases).map((pool) => pool.end())));
  return databases;
}

/** In a cell: the session with the locks for connections to switches (store/cells/advisory-locks.ts). */
const LOCKING_CONNECTIONS = 1;

/** The most connections that one process opens. */
export function connectionsOfProcess(connections: number, isInCell: boolean): number {
  const others = MESSAGE_CONNECTIONS + DIRECTORY_CONNECTIONS + REPORT_CONNECTIONS + LISTENING_CONNECTIONS;
  return connections + others + (isInCell ? LOCKING_CONNECTIONS : 0);
}

/** A running database, embedded or not. */
export interface PreparedDatabase {
  readonly url: string;
  readonly database: Database;
  stop(): Promise<void>;
}

/** Connects without a migration. @throws StartError NO_DATABASE, DATABASE_TOO_OLD */
export async function connectDatabase(config: Config): Promise<PreparedDatabase> {
  const embedded = config.DATABASE_URL
    ? undefined
    : await startEmbeddedPostgres({ directory: join(config.TAPWIRE_DATA, 'postgres') });
  const url = config.DATABASE_URL ?? embedded!.url;
  try {
    const database = await openDatabase(url, { maxConnections: config.DATABASE_CONNECTIONS });
    const stop = async () => {
      await database.end();
      await embedded?.stop();
    };
    return { url, database, stop };
  } catch (error) {
    await embedded?.stop();
    throw error;
  }
}

/** Connects and migrates to the schema of this version. @throws StartError, SCHEMA_TOO_NEW among them */
export async function prepareDatabase(config: Config): Promise<PreparedDatabase> {
  const connected = await connectDatabase(config);
  try {
    await migrate(connected.database);
    return connected;
  } catch (error) {
    await connected.stop();
    throw error;
  }
}

/** What an installation of several cells needs in a process with connections to switches. */
export interface Cell {
  readonly locks: LineLocks;
  /** Follows which acquirers this cell serves, from now on. */
  follow(switches: AcquirerSwitches): void;
}

/** @throws StartError BAD_CONFIG if CELL_NAME is not the name in the database */
export async function openCell(
  { config, report, closers }: Opening,
  url: string,
  database: Database,
  stores: Stores,
): Promise<Cell | undefined> {
  const { CELL_NAME: name } = config;
  if (name === undefined) {
    await refuseInCell(database);
    return undefined;
  }
  await claimName(database, name, keyNames(stores.keys));
  const onError = report('moves of acquirers between cells could not be followed');
  const locks = new LineLocks(url, onError);
  closers.push(() => locks.close());
  const follow = (switches: AcquirerSwitches) => {
    const watch = CellWatch.open({
      ...{ database, name, onError },
      keys: () => keyNames(stores.keys),
      onChange: () => stores.directory.refresh(),
      onServed: (acquirers) => locks.reportSignedOn(signedOnAmong(acquirers, switches)),
    });
    closers.push(() => watch.close());
  };
  return { locks, follow };
}

/** The acquirers among these that have a switch to which this process is signed on. */
function signedOnAmong(acquirers: readonly number[], switches: AcquirerSwitches): Set<number> {
  const signedOn = new Set(
    [...switches].filter(([, line]) => line.isSignedOn).map(([name]) => Number(name.split(' ')[0])),
  );
  return new Set(acquirers.filter((id) => signedOn.has(id)));
}
