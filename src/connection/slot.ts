import { ConnectionError } from '../errors.ts';
import type { Connection } from './connection.ts';
import { Deadline } from './deadlines.ts';
import type { RequestResult, RequestTimes } from './pending-requests.ts';

/**
 * The right to one request on a signed-on connection, taken before anything is committed about sending it. It ends by
 * `request` or `release`, whichever comes first; `using slot = …` releases it on every way out.
 */
export interface Slot<Message> extends Disposable {
  /** The connection the slot is on. If it is lost before the request, another carries it, unless this one was asked for. */
  readonly connectionId: string;
  /**
   * Sends the request and gives what became of it. A rejection means that nothing was written.
   * @throws ConnectionError SLOT_SPENT, DUPLICATE_KEY, MESSAGE_LENGTH, or what the protocol's `encode` throws
   */
  request(message: Message, times: RequestTimes): Promise<RequestResult<Message>>;
  /** Gives the slot back unused; does nothing when it was used or released before. */
  release(): void;
}

/** The pool, as its slots see it. */
export interface SlotOwner<Message> {
  /** Sends on `connection`, which carries the slot's load until the request has ended. */
  submit(connection: Connection<Message>, message: Message, times: RequestTimes): Promise<RequestResult<Message>>;
  /** A connection of the same pool, its load taken, for a slot whose own was lost. */
  replace(): Connection<Message> | undefined;
  giveBack(connection: Connection<Message>): void;
  /** Called when a slot was held too long and taken back. */
  onHeldTooLong(connectionId: string): void;
  onEnded(slot: HeldSlot<Message>): void;
}

export class HeldSlot<Message> extends Deadline implements Slot<Message> {
  #connection: Connection<Message>;
  readonly #owner: SlotOwner<Message>;
  readonly #isBound: boolean;
  #isSpent = false;

  /** @param isBound whether the caller wants this connection and no other */
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
    this.#owner.giveBack(this.#connection);
    const other = this.#isBound ? undefined : this.#owner.replace();
    if (other) return this.#owner.submit(other, message, times);
    return { kind: 'failed', written: false, reason: 'connectionLost', connectionId: this.#connection.id };
  }

  release(): void {
    if (this.#isSpent) return;
    this.#spend();
    this.#owner.giveBack(this.#connection);
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
