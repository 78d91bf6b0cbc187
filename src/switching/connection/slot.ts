import { ConnectionError } from '../../basics/errors.ts';
import type { Connection } from './connection.ts';
import { Deadline, type Deadlines } from './deadlines.ts';
import type { RequestResult, RequestTimes } from './pending-requests.ts';

/**
 * The right to one request on a signed-on connection. It is taken before anything about sending is committed. It ends
 * with `request` or `release`, whichever comes first.
 */
export interface Slot<Message> {
  /**
   * The connection of the slot. If it is lost before the request, another one carries the request, unless the caller
   * asked for this one.
   */
  readonly connectionId: string;
  /**
   * Sends the request and returns its result. A rejection means that nothing was written.
   * @throws ConnectionError SLOT_SPENT, DUPLICATE_KEY, MESSAGE_LENGTH, or what the protocol's `encode` throws
   */
  request(message: Message, times: RequestTimes): Promise<RequestResult<Message>>;
  /** Returns the slot unused; does nothing if it was used or released before. */
  release(): void;
}

/** The pool, as its slots see it. */
export interface SlotOwner<Message> {
  /** Sends on `connection`, which carries the slot's load until the request has ended. */
  submit(connection: Connection<Message>, message: Message, times: RequestTimes): Promise<RequestResult<Message>>;
  /** Returns a connection of the same pool, with its load taken, for a slot whose connection was lost. */
  replace(): Connection<Message> | undefined;
  release(connection: Connection<Message>): void;
  /** Called when a slot was held too long and reclaimed. */
  onHeldTooLong(connectionId: string): void;
  onEnded(slot: HeldSlot<Message>): void;
}

export class HeldSlot<Message> extends Deadline implements Slot<Message> {
  #connection: Connection<Message>;
  readonly #owner: SlotOwner<Message>;
  readonly #isBound: boolean;
  #isSpent = false;

  /** @param isBound whether the caller wants only this connection */
  constructor(connection: Connection<Message>, owner: SlotOwner<Message>, isBound: boolean) {
    super();
    this.#connection = connection;
    this.#owner = owner;
    this.#isBound = isBound;
  }

  get connectionId(): string {
    return this.#connection.id;
  }

  async request(message: Message, times: RequestTimes): Promise<RequestResult<Message>> {
    if (this.#isSpent) throw new ConnectionError('SLOT_SPENT');
    this.#spend();
    if (this.#connection.isUsable) return this.#owner.submit(this.#connection, message, times);
    this.#owner.release(this.#connection);
    const other = this.#isBound ? undefined : this.#owner.replace();
    if (other) return this.#owner.submit(other, message, times);
    return { kind: 'failed', written: false, reason: 'connectionLost', connectionId: this.#connection.id };
  }

  release(): void {
    if (this.#isSpent) return;
    this.#spend();
    this.#owner.release(this.#connection);
  }

  override onDue(): void {
    this.release();
    this.#owner.onHeldTooLong(this.#connection.id);
  }

  #spend(): void {
    this.#isSpent = true;
    this.#owner.onEnded(this);
  }
}

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
