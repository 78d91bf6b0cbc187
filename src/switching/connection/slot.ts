import { ConnectionError } from '../../basics/errors.ts';
import type { Connection } from './connection.ts';
import { Deadline } from './deadlines.ts';
import type { RequestResult, RequestTimes } from './pending-requests.ts';

/**
 * The right to one request on a signed-on connection. It is taken before anything about sending is committed. It ends
 * with `request` or `release`, whichever comes first; `using slot = …` releases it on every path.
 */
export interface Slot<Message> extends Disposable {
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

  [Symbol.dispose](): void {
    this.release();
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
