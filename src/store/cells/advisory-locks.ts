import { setTimeout as sleep } from 'node:timers/promises';
import { isStoreCondition } from '../../basics/errors/system-error.ts';
import { StoreUnavailable } from '../../basics/errors.ts';
import { destroyConnection, LimitedClient } from '../postgres/open-database.ts';

/** First keys of the advisory locks that concern acquirers; the second key is the acquirer's number. */
export const LOCKS = {
  /** Shared by each commit that writes rows of the acquirer while it is moved (0001_schema.sql names this number). */
  writes: 7_403_001,
  /** Shared by each process while it has connections to the acquirer's switches, or late responses to look up. */
  lines: 7_403_002,
  /** Shared by each process that is signed on to a switch of the acquirer. */
  signedOn: 7_403_003,
  /** Exclusive: only one command moves the acquirer. */
  move: 7_403_004,
  /** Shared by each commit that looks for an endpoint which its process does not know; exclusive for a new endpoint. */
  newEndpoints: 7_403_005,
} as const;

/** A connection without statements does not notice a broken network, so it is probed. */
const PROBE_EVERY_MS = 3_000;
/** A session that does not respond to a probe within this time is ended. */
const PROBE_TIMEOUT_MS = 3_000;

/** One session of the database, for locks that last as long as the process uses what they protect. */
export class LockSession {
  readonly #client: LimitedClient;
  /** Statements of a session run one after the other. */
  #last: Promise<unknown> = Promise.resolve();
  #probing: NodeJS.Timeout | undefined;
  /** Fulfilled when the session has ended for any reason. */
  readonly ended: Promise<void>;

  private constructor(client: LimitedClient) {
    this.#client = client;
    this.ended = new Promise((resolve) => {
      client.once('end', () => {
        clearTimeout(this.#probing);
        resolve();
      });
    });
  }

  static async open(url: string): Promise<LockSession> {
    const client = new LimitedClient({ connectionString: url, application_name: 'tapwire-lines' });
    client.on('error', () => {}); // `end` follows
    const session = new LockSession(client);
    await client.connect();
    session.#probe();
    return session;
  }

  async run<Row extends object>(text: string, values: readonly unknown[] = []): Promise<Row[]> {
    const result = this.#last.catch(() => {}).then(() => this.#client.query<Row>(text, [...values]));
    this.#last = result;
    return (await result).rows;
  }

  async close(): Promise<void> {
    clearTimeout(this.#probing);
    await this.#client.end().catch(() => {});
  }

  #probe(): void {
    this.#probing = setTimeout(() => {
      const silent = setTimeout(() => destroyConnection(this.#client), PROBE_TIMEOUT_MS);
      this.run('select 1')
        .then(
          () => this.#probe(),
          () => destroyConnection(this.#client), // unless it has ended already
        )
        .finally(() => clearTimeout(silent));
    }, PROBE_EVERY_MS).unref();
  }
}

const RECONNECT_AFTER_MS = 500;
/**
 * Without its locks, this process keeps connections to switches for at most this long after it noticed the loss: another
 * cell may serve the acquirer by then, and its switch may allow one session only. No tap can be served meanwhile. A crash
 * or a planned change of the database takes less than 10 s (src/observe/README.md), so it closes no connection. After the
 * loss of a host, which takes about 30 s, the process signs on again.
 */
const CLOSE_AFTER_MS = 20_000;

/** A switch that is open, or being opened. */
interface Holder {
  readonly acquirerId: number;
  readonly onLost: () => void;
  /** The session that has its lock. */
  session: LockSession | undefined;
}

const TRY = 'select pg_try_advisory_lock_shared($1, $2) as "isLocked"';
const UNLOCK = 'select pg_advisory_unlock_shared($1, $2)';
const ELSEWHERE = 'select acquirer_id as id from served_elsewhere where acquirer_id = any($1)';

/**
 * Which acquirers' switches this process is connected to, as locks of one database session. Postgres releases them when
 * the process dies, and keeps them while it is frozen, as the switch keeps its sockets. So a command that gets the
 * exclusive lock knows that no process of the cell has a connection, except one that was cut off from the database: this
 * one closes its connections when it has no locks for a while, or when it cannot get them again.
 */
export class LineLocks {
  readonly #url: string;
  readonly #onError: (error: unknown) => void;
  readonly #closeAfterMs: number;
  #session: LockSession | undefined;
  #opening: Promise<LockSession> | undefined;
  readonly #holders = new Set<Holder>();
  readonly #signedOn = new Set<number>();
  #closing: NodeJS.Timeout | undefined;
  #isClosed = false;

  constructor(url: string, onError: (error: unknown) => void, { closeAfterMs = CLOSE_AFTER_MS } = {}) {
    this.#url = url;
    this.#onError = onError;
    this.#closeAfterMs = closeAfterMs;
  }

  /**
   * Call before a switch of the acquirer is dialled.
   *
   * @param onLost called once if its connections must be closed, because another cell may serve the acquirer
   * @returns a function to call when its last connection is closed and its late responses were looked up; undefined if this
   * cell must not connect
   * @throws StoreUnavailable
   */
  async claim(acquirerId: number, onLost: () => void): Promise<(() => Promise<void>) | undefined> {
    const holder: Holder = { acquirerId, onLost, session: undefined };
    const session = await this.#open();
    this.#holders.add(holder);
    try {
      const [refused] = await this.#lock(session, [holder]);
      return refused ? undefined : () => this.#release(holder);
    } catch (error) {
      await this.#release(holder);
      throw asUnavailable(error);
    }
  }

  /** Which of the acquirers have a switch to which this process is signed on. */
  async reportSignedOn(acquirers: ReadonlySet<number>): Promise<void> {
    if (acquirers.size === 0 && this.#signedOn.size === 0) return;
    const session = await this.#open();
    try {
      for (const id of acquirers) {
        if (this.#signedOn.has(id)) continue;
        await session.run('select pg_advisory_lock_shared($1, $2)', [LOCKS.signedOn, id]);
        this.#signedOn.add(id);
      }
      for (const id of this.#signedOn) {
        if (acquirers.has(id)) continue;
        this.#signedOn.delete(id);
        await session.run(UNLOCK, [LOCKS.signedOn, id]);
      }
    } catch (error) {
      throw asUnavailable(error);
    }
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    clearTimeout(this.#closing);
    await this.#opening?.catch(() => {});
    await this.#session?.close();
  }

  /** Gives each holder its lock. @returns those that were removed, because this cell must not be connected for them */
  async #lock(session: LockSession, holders: readonly Holder[]): Promise<Holder[]> {
    for (const holder of holders) {
      if (!this.#holders.has(holder)) continue; // released meanwhile
      const [lock] = await session.run<{ isLocked: boolean }>(TRY, [LOCKS.lines, holder.acquirerId]);
      if (lock!.isLocked) holder.session = session;
      if (!this.#holders.has(holder)) await this.#unlock(holder);
    }
    // Read under the locks: a move that got its exclusive lock before has changed the state before.
    const ids = [...new Set(holders.map(({ acquirerId }) => acquirerId))];
    const elsewhere = (await session.run<{ id: number }>(ELSEWHERE, [ids])).map(({ id }) => id);
    const refused = holders.filter(
      (holder) => this.#holders.has(holder) && (holder.session !== session || elsewhere.includes(holder.acquirerId)),
    );
    for (const holder of refused) await this.#release(holder);
    return refused;
  }

  async #release(holder: Holder): Promise<void> {
    if (this.#holders.delete(holder)) await this.#unlock(holder);
  }

  /** Releases the locks. With a lost session they are lost, too. */
  async #unlock(holder: Holder): Promise<void> {
    const { session, acquirerId } = holder;
    holder.session = undefined;
    if (session === undefined) return;
    await session.run(UNLOCK, [LOCKS.lines, acquirerId]).catch((error) => {
      if (session === this.#session) this.#onError(error);
    });
  }

  async #open(): Promise<LockSession> {
    if (this.#isClosed) throw new StoreUnavailable(false);
    if (this.#session) return this.#session;
    this.#opening ??= this.#connect().finally(() => {
      this.#opening = undefined;
    });
    return this.#opening;
  }

  /** Takes the locks again: connections to switches outlive the session. */
  async #connect(): Promise<LockSession> {
    let session: LockSession | undefined;
    try {
      session = await LockSession.open(this.#url);
      for (const holder of await this.#lock(session, [...this.#holders])) holder.onLost();
    } catch (cause) {
      await session?.close();
      throw new StoreUnavailable(false, { cause });
    }
    const opened = session;
    this.#session = opened;
    clearTimeout(this.#closing);
    void opened.ended.then(() => this.#onEnd());
    if (this.#isClosed) await opened.close();
    return opened;
  }

  #onEnd(): void {
    this.#session = undefined;
    this.#signedOn.clear();
    if (this.#isClosed) return;
    this.#closing = setTimeout(() => {
      const lost = [...this.#holders];
      this.#holders.clear();
      for (const holder of lost) holder.onLost();
    }, this.#closeAfterMs).unref();
    void this.#reconnect();
  }

  async #reconnect(): Promise<void> {
    while (!this.#isClosed && this.#session === undefined) {
      await sleep(RECONNECT_AFTER_MS, undefined, { ref: false });
      await this.#open().catch((error) => {
        if (!this.#isClosed) this.#onError(error);
      });
    }
  }
}

function asUnavailable(error: unknown): unknown {
  return isStoreCondition(error) ? new StoreUnavailable(false, { cause: error }) : error;
}
