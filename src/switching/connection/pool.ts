import { checkFraming } from '../../codecs/iso8583/network/framing.ts';
import type { Connection } from './connection.ts';
import { Alarm, Deadlines } from './deadlines.ts';
import { PendingRequest, PendingRequests, type RequestResult, type RequestTimes } from './pending-requests.ts';
import { PoolCounters, type PoolStats } from './pool-stats.ts';
import { DEFAULT_LIMITS, DEFAULT_TIMEOUTS, overDefaults, type PoolOptions, type PoolTimeouts } from './pool-types.ts';
import { isSuspect, noteResponse, noteTimeout } from './session.ts';
import { HeldSlot, type Slot, type SlotOwner, SlotQueue } from './slot.ts';
import { type ConnectionSummary, SwitchConnections } from './switch-connections.ts';

/**
 * What a caller can expect now: a slot at once (`ready`), a slot after another request has ended (`full`) or after a
 * connection has signed on (`connecting`), or none (`down`, `closed`).
 */
export type Availability = 'ready' | 'full' | 'connecting' | 'down' | 'closed';

/**
 * Opens connections to a switch and keeps them open until the pool is closed. It does not wait for them: see
 * `availability` and `onStateChange`.
 * @throws ConnectionError FRAMING_INVALID
 */
export function openPool<Message>(options: PoolOptions<Message>): Pool<Message> {
  return new Pool(options);
}

/**
 * The connections to one switch, used as one. A request has a slot first: its caller commits something to a database
 * after it has a connection and before a byte is written to it.
 */
export class Pool<Message> {
  readonly name: string;
  readonly #options: PoolOptions<Message>;
  readonly #timeouts: PoolTimeouts;
  readonly #deadlines: Deadlines;
  readonly #pending: PendingRequests<Message>;
  readonly #queue: SlotQueue<Message>;
  readonly #connections: SwitchConnections<Message>;
  readonly #counters = new PoolCounters();
  readonly #slotOwner: SlotOwner<Message> = {
    submit: (connection, message, times) => this.#submit(connection, message, times),
    replace: () => this.#take(),
    release: (connection) => this.#connections.release(connection),
    onEnded: (slot) => this.#onSlotEnded(slot),
    onHeldTooLong: (connectionId) => this.#onSlotHeldTooLong(connectionId),
  };
  #heldSlots = 0;
  #isClosing = false;

  constructor(options: PoolOptions<Message>) {
    checkFraming(options.protocol.framing);
    const limits = overDefaults(DEFAULT_LIMITS, options.limits);
    this.name = options.name;
    this.#options = options;
    this.#timeouts = overDefaults(DEFAULT_TIMEOUTS, options.timeouts);
    this.#deadlines = options.deadlines ?? new Deadlines();
    this.#pending = new PendingRequests(options.protocol, this.#deadlines);
    this.#queue = new SlotQueue(this.#deadlines, limits.waiting);
    this.#connections = new SwitchConnections(options, {
      deadlines: this.#deadlines,
      pending: this.#pending,
      counters: this.#counters,
      limits,
      timeouts: this.#timeouts,
      onRoom: (connection) => this.#queue.serve(connection, () => this.#connections.take(connection)),
      onLost: (connection) => this.#onLost(connection),
    });
    this.#connections.open();
  }

  get availability(): Availability {
    const { ready, full, connecting } = this.#connections.lists;
    if (this.#isClosing) return 'closed';
    if (ready.size > 0) return 'ready';
    if (full.size > 0) return 'full';
    return connecting.size > 0 ? 'connecting' : 'down';
  }

  /** Whether every signed-on connection is suspect (see session.ts); false if no connection is signed on. */
  get isSuspect(): boolean {
    const { ready, full } = this.#connections.lists;
    const signedOn = [...ready, ...full];
    return signedOn.length > 0 && signedOn.every(this.#isSuspect);
  }

  readonly #isSuspect = (connection: Connection<Message>): boolean =>
    isSuspect(connection, this.#deadlines.monotonicMs(), this.#timeouts);

  get stats(): PoolStats {
    const waits = { pending: this.#queue.size, held: this.#heldSlots, inFlight: this.#pending.size };
    return this.#counters.snapshot(this.#connections.lists, waits);
  }

  /**
   * Whether the connection, signed on or not, is still open. A reversal uses the connection of its original if
   * possible.
   */
  hasConnection(connectionId: string): boolean {
    return this.#connections.lists.find(connectionId) !== undefined;
  }

  /**
   * Takes the right to one request on a signed-on connection, at once or not at all (see `availability`). With
   * `connectionId`, only on that connection.
   */
  takeSlot(options: { readonly connectionId?: string | undefined } = {}): Slot<Message> | undefined {
    const connection = this.#take(options.connectionId);
    return connection && this.#hold(connection, options.connectionId !== undefined);
  }

  /**
   * Like `takeSlot`, but waits until `giveUpAtMs` (a time of the monotonic clock) while a slot can still become
   * available. It does not wait if nothing is ready or connecting, or if too many callers already wait.
   */
  async waitForSlot(options: {
    readonly giveUpAtMs: number;
    readonly connectionId?: string | undefined;
  }): Promise<Slot<Message> | undefined> {
    const { connectionId, giveUpAtMs } = options;
    const slot = this.takeSlot(options);
    if (slot || !this.#canWait(connectionId)) return slot;
    const connection = await this.#queue.wait(giveUpAtMs, connectionId);
    return connection && this.#hold(connection, connectionId !== undefined);
  }

  /**
   * Takes a connection out of use until it has signed on again, because its keys became invalid or the switch
   * requested it.
   */
  signOnAgain(connectionId: string): void {
    const connection = this.#connections.lists.find(connectionId);
    if (connection) this.#connections.signOnAgain(connection);
  }

  /** @returns false if there is no such connection; see `SwitchConnections.signOff` */
  signOff(connectionId: string): boolean {
    return this.#connections.signOff(connectionId);
  }

  /** @returns false if there is no such connection; see `SwitchConnections.signOn` */
  signOn(connectionId: string): boolean {
    return this.#connections.signOn(connectionId);
  }

  get lines(): ConnectionSummary[] {
    return this.#connections.states;
  }

  /**
   * Accepts no new requests, lets requests in flight and held slots finish, and signs off. Connections that remain at
   * the deadline are destroyed.
   */
  async close(options: { readonly deadlineAtMs: number }): Promise<void> {
    this.#isClosing = true;
    const alarm = new Alarm(() => this.destroy());
    this.#deadlines.schedule(alarm, options.deadlineAtMs);
    this.#queue.dismiss();
    await this.#connections.drain();
    this.#deadlines.cancel(alarm);
  }

  /** Ends everything now. Requests in flight fail with `closed`, and report whether they were written. */
  destroy(): void {
    this.#isClosing = true;
    this.#queue.dismiss();
    this.#connections.destroy();
  }

  #submit(connection: Connection<Message>, message: Message, times: RequestTimes): Promise<RequestResult<Message>> {
    return new Promise((resolve, reject) => {
      const settle = (result: RequestResult<Message>): void => {
        this.#noteResult(connection, result);
        this.#connections.release(connection);
        resolve(result);
      };
      try {
        const key = this.#options.protocol.requestKey(message);
        connection.send(new PendingRequest(key, message, connection, times, settle));
      } catch (error) {
        this.#connections.release(connection);
        reject(error);
      }
    });
  }

  #noteResult(connection: Connection<Message>, result: RequestResult<Message>): void {
    if (result.kind !== 'failed') noteResponse(connection, result.roundTripMs);
    else if (result.reason === 'deadline') {
      this.#counters.timedOut++;
      noteTimeout(connection, this.#deadlines.monotonicMs());
    }
  }

  #take(connectionId?: string): Connection<Message> | undefined {
    if (this.#isClosing) return undefined;
    const { lists } = this.#connections;
    const connection = connectionId === undefined ? lists.choose(this.#isSuspect) : lists.find(connectionId);
    return connection && this.#connections.take(connection) ? connection : undefined;
  }

  #hold(connection: Connection<Message>, isBound: boolean): Slot<Message> {
    const slot = new HeldSlot(connection, this.#slotOwner, isBound);
    this.#heldSlots++;
    this.#deadlines.schedule(slot, this.#deadlines.monotonicMs() + this.#timeouts.slotHoldMs);
    return slot;
  }

  #onSlotEnded(slot: HeldSlot<Message>): void {
    this.#heldSlots--;
    this.#deadlines.cancel(slot);
  }

  #onSlotHeldTooLong(connectionId: string): void {
    this.#counters.slotsHeldTooLong++;
    this.#options.log.warn({ connectionId }, 'slot held too long, reclaimed');
  }

  /** Whether a slot can still become available. */
  #canWait(connectionId?: string): boolean {
    const { availability } = this;
    if (availability === 'closed' || availability === 'down' || this.#queue.isFull) return false;
    const named = connectionId === undefined ? undefined : this.#connections.lists.find(connectionId);
    return connectionId === undefined || (named !== undefined && named.state !== 'draining');
  }

  #onLost(connection: Connection<Message>): void {
    if (this.availability === 'down') this.#queue.dismiss();
    else this.#queue.dismiss(connection.id);
  }
}
