import type { Connection } from './connection.ts';
import { Deadline, type Deadlines } from './deadlines.ts';

/** One caller that waits for a connection with room; the result is undefined if none came in time. */
class Waiter<Message> extends Deadline {
  readonly connectionId: string | undefined;
  readonly #settle: (waiter: Waiter<Message>, connection: Connection<Message> | undefined) => void;

  constructor(
    connectionId: string | undefined,
    settle: (waiter: Waiter<Message>, connection: Connection<Message> | undefined) => void,
  ) {
    super();
    this.connectionId = connectionId;
    this.#settle = settle;
  }

  serve(connection: Connection<Message> | undefined): void {
    this.#settle(this, connection);
  }

  override onDue(): void {
    this.serve(undefined);
  }
}

/**
 * Callers that wait for a slot, first come, first served. The queue is limited: if it is full, a caller is refused at
 * once.
 */
export class SlotQueue<Message> {
  readonly #deadlines: Deadlines;
  readonly #maxWaiting: number;
  readonly #waiters = new Set<Waiter<Message>>();

  constructor(deadlines: Deadlines, maxWaiting: number) {
    this.#deadlines = deadlines;
    this.#maxWaiting = maxWaiting;
  }

  get size(): number {
    return this.#waiters.size;
  }

  get isFull(): boolean {
    return this.#waiters.size >= this.#maxWaiting;
  }

  /** Waits for any connection, or for the named one; until `giveUpAtMs` at most. */
  wait(giveUpAtMs: number, connectionId?: string): Promise<Connection<Message> | undefined> {
    return new Promise((resolve) => {
      const waiter = new Waiter<Message>(connectionId, (waiting, connection) => {
        this.#waiters.delete(waiting);
        this.#deadlines.cancel(waiting);
        resolve(connection);
      });
      this.#waiters.add(waiter);
      this.#deadlines.schedule(waiter, giveUpAtMs);
    });
  }

  /** Serves callers with `connection` as long as `take` finds room on it. */
  serve(connection: Connection<Message>, take: () => boolean): void {
    for (const waiter of this.#waiters) {
      if (waiter.connectionId !== undefined && waiter.connectionId !== connection.id) continue;
      if (!take()) return;
      waiter.serve(connection);
    }
  }

  /** Refuses all callers, or those that wait for one connection that has ended. */
  dismiss(connectionId?: string): void {
    for (const waiter of this.#waiters) {
      if (connectionId === undefined || waiter.connectionId === connectionId) waiter.serve(undefined);
    }
  }
}
