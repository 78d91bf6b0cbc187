import { randomBytes } from 'node:crypto';
import pg from 'pg';
import { inject } from 'vitest';
import { type Database, openDatabase } from '../../src/store/postgres/open-database.ts';
import { SESSION_LIMITS } from '../../src/store/postgres/session-limits.ts';

/** A migrated database for one test file. */
export interface TestDatabase {
  readonly url: string;
  /** The test's own connections to it. */
  readonly database: Database;
  drop(): Promise<void>;
}

/** Enough for a test and its checks. */
const MAX_CONNECTIONS = 4;

/** Copies the template, which takes a few dozen milliseconds. */
export function createTestDatabase(): Promise<TestDatabase> {
  return copyOf(new URL(inject('templateUrl')));
}

/** A copy of the database at `url`, like a restored backup. No client may write to the original during the copy. */
export async function restoreTestDatabase(url: string): Promise<TestDatabase> {
  const source = new URL(url);
  // A database can be copied only without connections, idle ones of a pool included.
  const disconnect = `select pg_terminate_backend(pid) from pg_stat_activity where datname = '${source.pathname.slice(1)}'`;
  await maintain(source, disconnect);
  return copyOf(source);
}

/** Gives each database the name of the other, as if a standby that lacks the last commits replaced its primary. */
export async function swapDatabases(url: string, copy: TestDatabase): Promise<void> {
  const [name, other] = [url, copy.url].map((of) => new URL(of).pathname.slice(1)) as [string, string];
  const at = new URL(url);
  const names = [name, other];
  for (const one of names) await maintain(at, `alter database ${one} allow_connections false`);
  for (const one of names)
    await maintain(at, `select pg_terminate_backend(pid, 5000) from pg_stat_activity where datname = '${one}'`);
  await maintain(at, `alter database ${name} rename to ${name}_swapped`);
  await maintain(at, `alter database ${other} rename to ${name}`);
  await maintain(at, `alter database ${name}_swapped rename to ${other}`);
  for (const one of names) await maintain(at, `alter database ${one} allow_connections true`);
}

async function copyOf(template: URL): Promise<TestDatabase> {
  const name = `test_${randomBytes(6).toString('hex')}`;
  // Copying files takes half the processor time of copying through the log, Postgres' default.
  await maintain(template, `create database ${name} template ${template.pathname.slice(1)} strategy file_copy`);
  const url = withDatabase(template, name).href;
  const database = await openDatabase(url, { maxConnections: MAX_CONNECTIONS, limits: SESSION_LIMITS.ledger });
  return {
    url,
    database,
    drop: async () => {
      await database.end();
      // Not awaited: it waits for every session of the cluster to take notice, and one that another test has silenced in
      // the middle of its sign-in does so after a minute. What is left is deleted with the cluster.
      maintenanceOf(template, 'drop')
        .query(`drop database ${name} with (force)`)
        .catch(() => undefined);
    },
  };
}

/** The URL of a database that does not exist on the server yet. */
export function urlOfMissingDatabase(): string {
  return withDatabase(new URL(inject('templateUrl')), `test_${randomBytes(6).toString('hex')}`).href;
}

const maintenance = new Map<string, pg.Pool>();

/** For statements in a database that no test uses. All files of a worker share its connections, one for each purpose. */
function maintenanceOf(url: URL, purpose: 'copy' | 'drop'): pg.Pool {
  const pool = maintenance.get(purpose) ?? openMaintenance(withDatabase(url, 'postgres').href);
  maintenance.set(purpose, pool);
  return pool;
}

async function maintain(url: URL, statement: string): Promise<void> {
  await maintenanceOf(url, 'copy').query(statement);
}

function openMaintenance(connectionString: string): pg.Pool {
  const pool = new pg.Pool({ connectionString, max: 1, idleTimeoutMillis: 0, allowExitOnIdle: true });
  pool.on('error', () => {}); // the cluster has stopped, at the end of the run
  return pool;
}

function withDatabase(url: URL, name: string): URL {
  const other = new URL(url);
  other.pathname = `/${name}`;
  return other;
}
