import type { TransactionKey } from '../../payments/model/transaction.ts';
import type { Wakeups } from '../../payments/ports/transaction-dependencies.ts';
import { type Database, destroyConnection, LimitedClient } from './open-database.ts';
import { limitSession, SESSION_LIMITS } from './session-limits.ts';

/** Two channels: outcomes for requests that wait for a phone, jobs for workers. */
const MOVED = 'tapwire_moved';
const AUTHORIZE = 'tapwire_authorize';
/** NOTIFY holds a global lock through its commit, so each one carries the ids gathered in this time. */
const GATHER_MS = 2;
/** Postgres refuses payloads of 8,000 bytes and more; a UUID and its comma take 37. */
const MAX_IDS_PER_NOTICE = 200;
const RECONNECT_AFTER_MS = 500;
/** A connection that only listens does not notice a broken network, so it is probed. */
const PROBE_EVERY_MS = 3_000;
/** A connection that does not respond to a probe within this time is replaced. */
const PROBE_TIMEOUT_MS = 3_000;

/** Within one process, for role `all`. Nothing is sent. */
export class LocalWakeups implements Wakeups {
  readonly #waiting = new Map<string, Set<() => void>>();

  moved({ id }: TransactionKey, timeoutMs: number): Promise<void> {
    return new Promise((resolve) => {
      const waiters = this.#waiting.get(id) ?? new Set();
      this.#waiting.set(id, waiters);
      const wake = () => {
        clearTimeout(timer);
        waiters.delete(wake);
        if (waiters.size === 0) this.#waiting.delete(id);
        resolve();
      };
      const timer = setTimeout(wake, timeoutMs);
      waiters.add(wake);
    });
  }

  announce({ id }: TransactionKey): void {
    this.wake(id);
  }

  announceWork(): void {}

  /** Wakes the waiters of one transaction, or of all: they read the row again. */
  wake(id?: string): void {
    const sets = id === undefined ? [...this.#waiting.values()] : [this.#waiting.get(id) ?? []];
    for (const waiters of sets) for (const wake of [...waiters]) wake();
  }
}

export interface SharedWakeupsOptions {
  readonly database: Database;
  readonly url: string;
  /** Called when an `api` process has accepted taps. */
  readonly onAuthorize?: (() => void) | undefined;
  readonly onError: (error: unknown) => void;
}

/**
 * Between processes with LISTEN/NOTIFY. A lost notice costs time, never a response: the waiter reads the row in the
 * end.
 */
export class SharedWakeups implements Wakeups {
  readonly #options: SharedWakeupsOptions;
  readonly #local = new LocalWakeups();
  readonly #moved = new Set<string>();
  #mayAuthorize = false;
  #sending: NodeJS.Timeout | undefined;
  #listener: LimitedClient | undefined;
  #probing: NodeJS.Timeout | undefined;
  #isClosed = false;

  constructor(options: SharedWakeupsOptions) {
    this.#options = options;
    void this.#listen();
  }

  /**
   * For taps that this process submits itself: their outcome wakes only requests in this process, and costs no
   * statement. A request in another process reads the row within a second.
   */
  get ofOwnTaps(): Wakeups {
    return {
      moved: (key, timeoutMs) => this.#local.moved(key, timeoutMs),
      announce: (key) => this.#local.announce(key),
      announceWork: () => this.announceWork(),
    };
  }

  moved(key: TransactionKey, timeoutMs: number): Promise<void> {
    return this.#local.moved(key, timeoutMs);
  }

  announce({ id }: TransactionKey): void {
    this.#moved.add(id);
    this.#scheduleSend();
  }

  announceWork(): void {
    this.#mayAuthorize = true;
    this.#scheduleSend();
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    clearTimeout(this.#sending);
    await this.#send();
    await this.#listener?.end().catch(() => {});
  }

  #scheduleSend(): void {
    this.#sending ??= setTimeout(() => {
      this.#sending = undefined;
      this.#send().catch(this.#options.onError);
    }, GATHER_MS);
  }

  async #send(): Promise<void> {
    const ids = [...this.#moved];
    this.#moved.clear();
    const mayAuthorize = this.#mayAuthorize;
    this.#mayAuthorize = false;
    const { database } = this.#options;
    if (mayAuthorize) await database.query('select pg_notify($1, $2)', [AUTHORIZE, '']);
    for (let at = 0; at < ids.length; at += MAX_IDS_PER_NOTICE) {
      await database.query('select pg_notify($1, $2)', [MOVED, ids.slice(at, at + MAX_IDS_PER_NOTICE).join(',')]);
    }
  }

  async #listen(): Promise<void> {
    const client = new LimitedClient({
      connectionString: this.#options.url,
      application_name: 'tapwire-listen',
    });
    this.#listener = client;
    client.on('error', () => {});
    client.on('end', () => this.#reconnect());
    client.on('notification', ({ channel, payload }) => {
      if (channel === AUTHORIZE) this.#options.onAuthorize?.();
      else for (const id of payload?.split(',') ?? []) this.#local.wake(id);
    });
    try {
      await client.connect();
      const channels = this.#options.onAuthorize ? [MOVED, AUTHORIZE] : [MOVED];
      await responseOf(client, () => limitSession(client, SESSION_LIMITS.tap));
      await responseOf(client, () => client.query(channels.map((channel) => `listen ${channel}`).join(';')));
      this.#probe(client);
      this.#local.wake(); // for notices sent while no connection listened
      this.#options.onAuthorize?.();
    } catch (error) {
      this.#options.onError(error);
      await client.end().catch(() => {});
    }
  }

  #probe(client: LimitedClient): void {
    this.#probing = setTimeout(() => {
      responseOf(client, () => client.query('select 1')).then(
        () => this.#probe(client),
        () => destroyConnection(client), // unless it has ended already
      );
    }, PROBE_EVERY_MS).unref();
  }

  #reconnect(): void {
    clearTimeout(this.#probing);
    if (this.#isClosed) return;
    setTimeout(() => void (this.#isClosed || this.#listen()), RECONNECT_AFTER_MS).unref();
  }
}

/** Waits for the result of a statement, and destroys a silent connection, whose end is reported by an event. */
async function responseOf(client: LimitedClient, statement: () => Promise<unknown>): Promise<void> {
  const timer = setTimeout(() => destroyConnection(client), PROBE_TIMEOUT_MS);
  try {
    await statement();
  } finally {
    clearTimeout(timer);
  }
}
