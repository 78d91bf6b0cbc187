import pg from 'pg';
import type { Wakeups } from '../../transactions/ports.ts';
import type { TransactionKey } from '../../transactions/transaction.ts';
import type { Database } from './open-database.ts';

/** Two channels: outcomes for who waits at a phone, jobs for who waits for work. */
const MOVED = 'tapwire_moved';
const AUTHORIZE = 'tapwire_authorize';
/** NOTIFY takes a global lock through its commit: so one of them carries what gathered in this time. */
const GATHER_MS = 2;
/** Postgres refuses payloads of 8,000 bytes and more; a UUID and its comma take 37. */
const MAX_IDS_PER_NOTICE = 200;
const RECONNECT_AFTER_MS = 500;

/** Within one process: role `all`. Nothing is sent anywhere. */
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

  /** Every waiter of one transaction, or of all: they look at the row again. */
  wake(id?: string): void {
    const sets = id === undefined ? [...this.#waiting.values()] : [this.#waiting.get(id) ?? []];
    for (const waiters of sets) for (const wake of [...waiters]) wake();
  }
}

export interface SharedWakeupsOptions {
  readonly database: Database;
  readonly url: string;
  /** Told when an `api` process has accepted taps. */
  readonly onAuthorize?: (() => void) | undefined;
  readonly onError: (error: unknown) => void;
}

/** Between processes by LISTEN/NOTIFY. A lost notice costs time, never an answer: who waits reads the row in the end. */
export class SharedWakeups implements Wakeups {
  readonly #options: SharedWakeupsOptions;
  readonly #local = new LocalWakeups();
  readonly #moved = new Set<string>();
  #mayAuthorize = false;
  #sending: NodeJS.Timeout | undefined;
  #listener: pg.Client | undefined;
  #isClosed = false;

  constructor(options: SharedWakeupsOptions) {
    this.#options = options;
    void this.#listen();
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
    const client = new pg.Client({
      connectionString: this.#options.url,
      keepAlive: true,
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
      await client.query(`listen ${MOVED}`);
      if (this.#options.onAuthorize) await client.query(`listen ${AUTHORIZE}`);
      this.#local.wake(); // whatever was said while nobody listened
      this.#options.onAuthorize?.();
    } catch (error) {
      this.#options.onError(error);
      await client.end().catch(() => {});
    }
  }

  #reconnect(): void {
    if (this.#isClosed) return;
    setTimeout(() => void (this.#isClosed || this.#listen()), RECONNECT_AFTER_MS).unref();
  }
}
