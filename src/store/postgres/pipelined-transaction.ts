import type pg from 'pg';
import { socketOf } from './open-database.ts';

/**
 * How a transaction that did not succeed ended. `uncertain`: everything or nothing of it is stored. `connectionLost`:
 * the connection was lost before COMMIT was sent, so nothing is stored.
 */
type FailedEnd = 'rolledBack' | 'uncertain' | 'connectionLost';

/** The start of a transaction in which these settings hold. */
export function beginWith(settings: readonly string[]): string {
  return ['begin', ...settings.map((setting) => `set local ${setting}`)].join('; ');
}

/**
 * SQLSTATE of a warning. A server with a synchronous standby waits at COMMIT until the standby has the transaction. If
 * this wait is cancelled, by an operator or by a time limit, the server responds to COMMIT, with this warning alone.
 */
const WARNING = '01000';

/** The transaction on each connection that still takes statements. */
const open = new WeakMap<pg.ClientBase, PipelinedTransaction>();

/** @returns the transaction that a statement on this connection would join now, or undefined */
export function openTransaction(client: pg.ClientBase): PipelinedTransaction | undefined {
  return open.get(client);
}

/**
 * A transaction whose BEGIN and COMMIT are sent without waiting for the responses to the statements before them. The
 * server executes and responds to statements in the order in which they arrive. After one has failed, it rejects all
 * others, and responds to COMMIT with ROLLBACK.
 */
export class PipelinedTransaction {
  /** The reason for which the connection cannot be used again. */
  lost: Error | undefined;
  readonly #client: pg.PoolClient;
  readonly #begun: Promise<pg.QueryResult>;
  #committed: Promise<pg.QueryResult> | undefined;
  #isReplicated = true;

  constructor(client: pg.PoolClient, begin: string) {
    this.#client = client;
    gatherWrites(client);
    this.#begun = client.query(begin);
    this.#begun.catch(() => {}); // `commit` and `end` await it
    client.on('notice', this.#onNotice);
    open.set(client, this);
  }

  /** Leaves the connection to the next user. */
  close(): void {
    this.#client.removeListener('notice', this.#onNotice);
  }

  readonly #onNotice = ({ code }: { readonly code?: string | undefined }): void => {
    if (code === WARNING) this.#isReplicated = false;
  };

  /** Sends COMMIT. A property, because it is passed on without its object. */
  readonly seal = (): void => {
    open.delete(this.#client);
    this.#committed ??= this.#client.query('commit');
    this.#committed.catch(() => {}); // `commit` and `end` await it
  };

  /** Sends COMMIT, unless it was sent, and resolves when everything is stored, on a synchronous standby as well. */
  async commit(): Promise<void> {
    await this.#begun;
    this.seal();
    const { command } = await this.#committed!;
    if (command !== 'COMMIT') throw new Error(`the server responded to COMMIT with ${command}`);
    // After a failover, the server that takes over may not have it.
    if (!this.#isReplicated)
      throw new Error('the server committed, but did not wait until a standby had the transaction');
  }

  /** Ends the transaction after a fault. */
  async end(): Promise<FailedEnd> {
    const command = await this.#committed?.then((result) => result.command).catch(() => undefined);
    const isRolledBack = command === 'ROLLBACK' || (await this.#rollBack());
    if (!isRolledBack) return this.#committed ? 'uncertain' : 'connectionLost';
    // Without its BEGIN, each statement was a transaction of its own.
    const isBegun = await this.#begun.then(
      () => true,
      () => false,
    );
    return isBegun && command !== 'COMMIT' ? 'rolledBack' : 'uncertain';
  }

  async #rollBack(): Promise<boolean> {
    open.delete(this.#client);
    try {
      await this.#client.query('rollback');
      return true;
    } catch (error) {
      this.lost = error as Error;
      return false;
    }
  }
}

/**
 * Statements until the end of this turn of the event loop leave in one write. Each write costs a system call here, and
 * the server a wake-up.
 */
function gatherWrites(client: pg.ClientBase): void {
  const socket = socketOf(client);
  socket.cork();
  setImmediate(() => socket.uncork());
}
