import pg from 'pg';
import { describeSystemError } from '../../basics/errors/system-error.ts';
import { StartError } from '../../basics/errors.ts';
import { BATCH_SETTINGS } from './batch-settings.ts';
import { HeldClients } from './held-clients.ts';
import { LimitedClient } from './limited-client.ts';
import { limitSession, SESSION_LIMITS, type SessionLimits } from './session-limits.ts';
import { urlWithoutSecrets } from './url-without-secrets.ts';

/** `server_version_num` of Postgres 15: `merge`, `unique nulls not distinct` and pg-boss 12 need it. */
const OLDEST_SERVER = 150_000;
export type Database = pg.Pool;

/** For each pool, the object that watches its clients in use. */
const held = new WeakMap<Database, HeldClients>();
const forBatches = new WeakSet<Database>();

/** Whether the sessions of this pool have the settings of a batch. */
export function isForBatches(database: Database): boolean {
  return forBatches.has(database);
}

export interface DatabaseOptions {
  readonly maxConnections?: number;
  /**
   * Its connections run COPY, which pipelined connections cannot, and never `inTransaction`. On all other connections,
   * statements do not wait for the responses to those before them.
   */
  readonly runsCopy?: boolean;
  /**
   * Its sessions run the batches of group commits and nothing else, so they have the settings of a batch from the start.
   * Elsewhere each commit sets them: four more statements.
   */
  readonly runsBatches?: boolean;
  /** A missing database is not created: a command that only reads would report an empty one. */
  readonly mustExist?: boolean;
  /** The purpose of its sessions; default: reports and commands. */
  readonly limits?: SessionLimits;
}

// int8 (amounts, counters) fits a double: amounts have at most 12 digits.
pg.types.setTypeParser(pg.types.builtins.INT8, Number);

/**
 * Opens the database at `url`; creates it if a local cluster lacks it.
 *
 * @throws StartError NO_DATABASE if no server responds, DATABASE_TOO_OLD below Postgres 15
 */
export async function openDatabase(url: string, options: DatabaseOptions = {}): Promise<Database> {
  if (!isDatabaseUrl(url))
    throw new StartError('NO_DATABASE', `The database URL is invalid. Expected ${DATABASE_URL_FORM}.`);
  const pool = openPool(url, options);
  try {
    const { rows } = await firstQuery(pool, url, options.mustExist);
    if (Number(rows[0].server_version_num) >= OLDEST_SERVER) return pool;
  } catch (cause) {
    await pool.end();
    const reason = describeSystemError(cause);
    throw new StartError('NO_DATABASE', `The database at ${urlWithoutSecrets(url)} does not answer: ${reason}`, {
      cause,
    });
  }
  await pool.end();
  throw new StartError('DATABASE_TOO_OLD', `The database at ${urlWithoutSecrets(url)} is older than Postgres 15.`);
}

/** For messages about a URL that cannot be used. */
export const DATABASE_URL_FORM = 'postgres://USER:PASSWORD@HOST/NAME';

/** pg takes other text for a name on the host `base`, or for the folder of a socket if it begins with a slash. */
export function isDatabaseUrl(url: string): boolean {
  return /^postgres(ql)?:$/.test(URL.parse(url)?.protocol ?? '') || url.startsWith('/');
}

/** A pool that connects on first use; the caller has checked its server before. */
export function openPool(
  url: string,
  { maxConnections = 10, limits = SESSION_LIMITS.report, runsCopy = false, runsBatches = false }: DatabaseOptions = {},
): Database {
  const clients = new HeldClients(limits.heldMs);
  const pool = new pg.Pool({
    connectionString: url,
    connectionTimeoutMillis: limits.waitMs,
    max: maxConnections,
    application_name: 'tapwire',
    pipeline: !runsCopy,
    Client: LimitedClient,
    onConnect: (client) => {
      clients.taken(client);
      return limitSession(client, limits, runsBatches ? BATCH_SETTINGS : {});
    },
  });
  // A client that loses its connection must not end the process, neither idle nor in use. The query in progress fails,
  // and the next query opens another connection.
  pool.on('error', () => {});
  pool.on('connect', (client) => client.on('error', () => {}));
  clients.watch(pool);
  held.set(pool, clients);
  if (runsBatches) forBatches.add(pool);
  return pool;
}

/** Another pool to the same database. */
export function openAlike(database: Database, options: DatabaseOptions): Database {
  return openPool(database.options.connectionString!, options);
}

/** Runs `work` in a session with other limits, which does not return to the pool. */
export async function inLongSession<Result>(
  database: Database,
  limits: SessionLimits,
  work: (client: pg.PoolClient) => Promise<Result>,
): Promise<Result> {
  const client = await database.connect();
  try {
    held.get(database)?.taken(client, limits.heldMs);
    await limitSession(client, limits);
    return await work(client);
  } finally {
    client.release(true);
  }
}

async function firstQuery(pool: Database, url: string, mustExist = false) {
  try {
    return await pool.query('show server_version_num');
  } catch (error) {
    if (mustExist || (error as { code?: string }).code !== '3D000') throw error; // invalid_catalog_name: the database does not exist yet
    await createDatabase(url);
    return await pool.query('show server_version_num');
  }
}

/**
 * Another process created the database first: duplicate_database, or unique_violation in the catalogue if both tried at
 * once.
 */
const ALREADY_THERE = ['42P04', '23505'];

async function createDatabase(url: string): Promise<void> {
  const name = new URL(url).pathname.slice(1);
  const maintenance = new URL(url);
  maintenance.pathname = '/postgres';
  const client = new LimitedClient({ connectionString: maintenance.href });
  await client.connect();
  try {
    await client.query(`create database ${client.escapeIdentifier(name)}`);
  } catch (error) {
    if (!ALREADY_THERE.includes((error as { code?: string }).code!)) throw error;
  } finally {
    await client.end();
  }
}
