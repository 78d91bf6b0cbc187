import type { Socket } from 'node:net';
import pg from 'pg';
import { describeSystemError, isStoreCondition } from '../../basics/errors/system-error.ts';
import { StartError, StoreUnread } from '../../basics/errors.ts';
import { limitSession, SESSION_LIMITS, type SessionLimits } from './session-limits.ts';

/**
 * A batch finds each of its rows by key, so one plan fits all batches. If Postgres chose, it would plan small batches
 * again each time, which takes longer than to run them (interleaved: 590 µs of its time for the insert of one tap, 225
 * with a plan that is kept). A plan is made once for each connection, perhaps while the table has a page or two and a
 * scan of all rows is cheapest, so scans and the joins that need them are off. Which index is best is known when the
 * table has statistics (transaction-store.ts).
 */
export const BATCH_SETTINGS = {
  plan_cache_mode: 'force_generic_plan',
  enable_seqscan: 'off',
  enable_hashjoin: 'off',
  enable_mergejoin: 'off',
} as const;

/** After this silence TCP probes the server. Node repeats the probe each second, ten times. */
const KEEP_ALIVE_AFTER_MS = 3_000;
/** A working server closes the connection within a round trip after the client's termination message. */
const GOODBYE_MS = 1_000;
const CONNECT_TIMEOUT_MS = 4_000;

/** A client that connects soon or fails, probes a silent server, and ends even if the server does not respond. */
export class LimitedClient extends pg.Client {
  constructor(config: pg.ClientConfig = {}, connectMs = CONNECT_TIMEOUT_MS) {
    super({
      ...config,
      connectionTimeoutMillis: connectMs,
      keepAlive: true,
      keepAliveInitialDelayMillis: KEEP_ALIVE_AFTER_MS,
    });
  }

  override end(): Promise<void>;
  override end(callback: (error: Error) => void): void;
  override end(callback?: (error: Error) => void): Promise<void> | void {
    const timer = setTimeout(() => destroyConnection(this), GOODBYE_MS).unref();
    this.once('end', () => clearTimeout(timer));
    return callback ? super.end(callback) : super.end();
  }
}

/** Closes the socket at once without sending anything. Pending statements fail with the loss of the connection. */
export function destroyConnection(client: pg.ClientBase): void {
  socketOf(client).destroy();
}

/** Its connection to the server. */
export function socketOf(client: pg.ClientBase): Socket {
  // pg's typings do not declare this property.
  return (client as unknown as { readonly connection: { readonly stream: Socket } }).connection.stream;
}

/** Interval of the check: a limit is exceeded by at most two checks. */
const LOOK_EVERY_MS = 250;

interface Use {
  /** When the client was taken; undefined while it is idle. */
  takenAtMs: number | undefined;
  /** When the server last responded on it. */
  heardAtMs: number;
  heldMs: number;
  /** Whether its limit had passed at the last check. */
  isLate: boolean;
}

/**
 * Destroys connections that a caller has held for longer than the limit of their pool, on the monotonic clock,
 * because the server or the way to it no longer responds. Only a connection that was late at the previous check is
 * destroyed, so that a process that was paused first reads what has arrived meanwhile. Idle connections without a
 * response since then are also destroyed, because they would fail their next callers one by one. Later callers open
 * new connections.
 *
 * A check costs the same for any number of statements, and a statement costs nothing.
 */
export class HeldClients {
  readonly #heldMs: number;
  readonly #uses = new Map<pg.ClientBase, Use>();
  readonly #nowMs: () => number;

  constructor(heldMs: number, nowMs = () => performance.now()) {
    this.#heldMs = heldMs;
    this.#nowMs = nowMs;
  }

  /** Watches a pool until it has ended. */
  watch(pool: pg.Pool): void {
    pool.on('acquire', (client) => this.taken(client));
    pool.on('release', (_error, client) => this.noteReleased(client));
    pool.on('remove', (client) => this.#uses.delete(client));
    const timer = setInterval(() => {
      if (pool.ended) clearInterval(timer);
      else this.look();
    }, LOOK_EVERY_MS).unref();
  }

  /** @param heldMs replaces the limit of the pool for this use */
  taken(client: pg.ClientBase, heldMs = this.#heldMs): void {
    const takenAtMs = this.#nowMs();
    const use = this.#uses.get(client);
    if (use) Object.assign(use, { takenAtMs, heldMs, isLate: false });
    else this.#uses.set(client, { takenAtMs, heardAtMs: takenAtMs, heldMs, isLate: false });
  }

  noteReleased(client: pg.ClientBase): void {
    const use = this.#uses.get(client);
    if (!use) return;
    use.takenAtMs = undefined;
    use.heardAtMs = this.#nowMs();
  }

  /** Destroys connections that have been late since the last check. */
  look(): void {
    const nowMs = this.#nowMs();
    let lastSilenceAtMs = Number.NEGATIVE_INFINITY;
    for (const [client, use] of this.#uses) {
      if (use.takenAtMs === undefined || nowMs - use.takenAtMs <= use.heldMs) continue;
      if (use.isLate) {
        lastSilenceAtMs = Math.max(lastSilenceAtMs, use.takenAtMs);
        this.#destroy(client);
      }
      use.isLate = true;
    }
    for (const [client, { takenAtMs, heardAtMs }] of this.#uses)
      if (takenAtMs === undefined && heardAtMs <= lastSilenceAtMs) this.#destroy(client);
  }

  #destroy(client: pg.ClientBase): void {
    this.#uses.delete(client);
    destroyConnection(client);
  }
}

const HIDDEN = '***';
/** `password`, `sslpassword`, and what other protocols may call theirs. */
const SECRET_NAME = /pass|secret|token|key/i;

/** A URL as it may be printed: without its password, wherever it stands. Text that is no URL is not shown, because its parts are unknown. */
export function urlWithoutSecrets(text: string): string {
  const url = URL.parse(text);
  // `user:password@host/database` has the form of a URL with the protocol `user:`.
  if (url === null || (url.host === '' && text.includes('@'))) return '(not a URL)';
  if (url.password) url.password = HIDDEN;
  for (const name of new Set(url.searchParams.keys())) if (SECRET_NAME.test(name)) url.searchParams.set(name, HIDDEN);
  return url.href;
}

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
  /** Refuses a new connection by an error. */
  readonly admit?: ((client: pg.ClientBase) => Promise<void>) | undefined;
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
    throw new StartError('NO_DATABASE', `The database at ${urlWithoutSecrets(url)} does not respond: ${reason}`, {
      cause,
    });
  }
  await pool.end();
  throw new StartError('DATABASE_TOO_OLD', `The database at ${urlWithoutSecrets(url)} is older than Postgres 15.`);
}

/** The form of a URL, for messages about one that cannot be used. */
export const DATABASE_URL_FORM = 'postgres://USER:PASSWORD@HOST/NAME';

/** pg takes other text for a name on the host `base`, or for the folder of a socket if it begins with a slash. */
export function isDatabaseUrl(url: string): boolean {
  return /^postgres(ql)?:$/.test(URL.parse(url)?.protocol ?? '') || url.startsWith('/');
}

/** A pool that connects on first use; the caller has checked its server before. */
export function openPool(
  url: string,
  {
    maxConnections = 10,
    limits = SESSION_LIMITS.report,
    runsCopy = false,
    runsBatches = false,
    admit,
  }: DatabaseOptions = {},
): Database {
  const clients = new HeldClients(limits.heldMs);
  const Client = class extends LimitedClient {
    constructor(config?: pg.ClientConfig) {
      super(config, limits.connectMs);
    }
  };
  const pool = new pg.Pool({
    connectionString: url,
    connectionTimeoutMillis: limits.waitMs,
    max: maxConnections,
    application_name: 'tapwire',
    pipeline: !runsCopy,
    Client,
    onConnect: async (client) => {
      clients.taken(client);
      await limitSession(client, limits, runsBatches ? BATCH_SETTINGS : {});
      await admit?.(client);
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

/**
 * Returns the result of a read while the database is available.
 *
 * @throws StoreUnread if it is unavailable; an error of the database about the read, and any other error, unchanged
 */
export async function mapConnectionLoss<T>(read: Promise<T>): Promise<T> {
  try {
    return await read;
  } catch (cause) {
    throw isStoreCondition(cause) ? new StoreUnread({ cause }) : cause;
  }
}
