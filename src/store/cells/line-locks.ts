import { setTimeout as sleep } from 'node:timers/promises';
import { isStoreCondition } from '../../errors/store-conditions.ts';
import { StoreUnavailable } from '../../errors.ts';
import { destroyConnection, LimitedClient } from '../postgres/limited-client.ts';
import { LOCKS } from './lock-classes.ts';

const RECONNECT_AFTER_MS = 500;
/** A connection without statements does not notice a broken network, so it is probed. */
const PROBE_EVERY_MS = 3_000;
/** A session that does not answer a probe within this time is replaced. */
const PROBE_TIMEOUT_MS = 3_000;

/**
 * Which acquirers' switches this process is connected to, as locks of one database session. Postgres releases them when
 * the process dies, and keeps them while it is frozen, as the switch keeps its sockets. So a command that gets the
 * exclusive lock knows that no process of the cell has a connection.
 */
export class LineLocks {
  readonly #url: string;
  readonly #onError: (error: unknown) => void;
  #session: Promise<LimitedClient> | undefined;
  /** How many open switches hold the lock of an acquirer. */
  readonly #held = new Map<number, number>();
  readonly #signedOn = new Set<number>();
  #probing: NodeJS.Timeout | undefined;
  /** Statements of a session run one after the other. */
  #last: Promise<unknown> = Promise.resolve();
  #isClosed = false;

  constructor(url: string, onError: (error: unknown) => void) {
    this.#url = url;
    this.#onError = onError;
  }

  /**
   * Call before a switch of the acquirer is dialled.
   *
   * @returns a function to call when its last connection is closed; undefined if this cell must not connect
   * @throws StoreUnavailable
   */
  async claim(acquirerId: number): Promise<(() => Promise<void>) | undefined> {
    const [lock] = await this.#query<{ isLocked: boolean }>(
      'select pg_try_advisory_lock_shared($1, $2) as "isLocked"',
      [LOCKS.lines, acquirerId],
    );
    if (!lock!.isLocked) return undefined;
    this.#held.set(acquirerId, (this.#held.get(acquirerId) ?? 0) + 1);
    const release = this.#releaseOnce(acquirerId);
    try {
      // Read under the lock: a move that got its exclusive lock before has changed the state before.
      const elsewhere = await this.#query('select from served_elsewhere where acquirer_id = $1', [acquirerId]);
      if (elsewhere.length === 0) return release;
    } catch (error) {
      await release();
      throw error;
    }
    await release();
    return undefined;
  }

  #releaseOnce(acquirerId: number): () => Promise<void> {
    let isReleased = false;
    return async () => {
      if (isReleased) return;
      isReleased = true;
      const left = this.#held.get(acquirerId)! - 1;
      if (left > 0) this.#held.set(acquirerId, left);
      else this.#held.delete(acquirerId);
      await this.#unlock(LOCKS.lines, acquirerId);
    };
  }

  /** Which of the acquirers have a switch to which this process is signed on. */
  async reportSignedOn(acquirers: ReadonlySet<number>): Promise<void> {
    for (const id of acquirers) {
      if (this.#signedOn.has(id)) continue;
      await this.#query('select pg_advisory_lock_shared($1, $2)', [LOCKS.signedOn, id]);
      this.#signedOn.add(id);
    }
    for (const id of this.#signedOn) {
      if (acquirers.has(id)) continue;
      this.#signedOn.delete(id);
      await this.#unlock(LOCKS.signedOn, id);
    }
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    clearTimeout(this.#probing);
    const session = await this.#session?.catch(() => undefined);
    await session?.end().catch(() => {});
  }

  /** After the loss of the session its locks are lost, too. */
  async #unlock(lockClass: number, acquirerId: number): Promise<void> {
    if (this.#session === undefined) return;
    await this.#query('select pg_advisory_unlock_shared($1, $2)', [lockClass, acquirerId]).catch(this.#onError);
  }

  async #query<Row extends object>(text: string, values: readonly unknown[]): Promise<Row[]> {
    const session = await this.#open();
    const before = this.#last;
    const result = before.catch(() => {}).then(() => session.query<Row>(text, [...values]));
    this.#last = result;
    try {
      return (await result).rows;
    } catch (cause) {
      throw isStoreCondition(cause) ? new StoreUnavailable(false, { cause }) : cause;
    }
  }

  #open(): Promise<LimitedClient> {
    if (this.#isClosed) throw new StoreUnavailable(false);
    this.#session ??= this.#connect().catch((cause) => {
      this.#session = undefined;
      throw new StoreUnavailable(false, { cause });
    });
    return this.#session;
  }

  async #connect(): Promise<LimitedClient> {
    const client = new LimitedClient({ connectionString: this.#url, application_name: 'tapwire-lines' });
    client.on('error', () => {});
    client.on('end', () => void this.#replace(client));
    await client.connect();
    for (const [id, count] of this.#held) {
      for (let n = 0; n < count; n++)
        await client.query('select pg_try_advisory_lock_shared($1, $2)', [LOCKS.lines, id]);
    }
    this.#probe(client);
    this.#last = Promise.resolve();
    return client;
  }

  #probe(client: LimitedClient): void {
    this.#probing = setTimeout(() => {
      const silent = setTimeout(() => destroyConnection(client), PROBE_TIMEOUT_MS);
      const answered = this.#query('select 1', []).finally(() => clearTimeout(silent));
      answered.then(
        () => this.#probe(client),
        () => destroyConnection(client), // unless it has ended already
      );
    }, PROBE_EVERY_MS).unref();
  }

  /** Takes the locks again: connections to switches outlive the session. */
  async #replace(client: LimitedClient): Promise<void> {
    clearTimeout(this.#probing);
    const current = await this.#session?.catch(() => undefined);
    if (current !== undefined && current !== client) return;
    this.#session = undefined;
    this.#signedOn.clear();
    while (!this.#isClosed && this.#session === undefined) {
      await sleep(RECONNECT_AFTER_MS, undefined, { ref: false });
      await this.#open().catch(this.#onError);
    }
  }
}
