import { Backoff, type BackoffLimits } from '../../basics/limits/waits.ts';
import type { Connection } from './connection.ts';
import { Deadline, type Deadlines } from './deadlines.ts';
import type { ConnectionState } from './pool-types.ts';

/**
 * The connections of a pool. A connection's state is the list that contains it:
 *
 *     connecting   dialled or accepted, not signed on (again) yet; carries no new request
 *     ready        signed on, with room for another request
 *     full         signed on, without room: its slots are taken, or the switch does not read
 *     draining     finishes the requests in flight, then signs off; carries only what held a slot before
 *     down         ended, until a new connection to the same address replaces it
 */
export class ConnectionLists<Message> {
  readonly connecting = new Set<Connection<Message>>();
  readonly ready = new Set<Connection<Message>>();
  readonly full = new Set<Connection<Message>>();
  readonly draining = new Set<Connection<Message>>();
  readonly down = new Set<Connection<Message>>();

  add(connection: Connection<Message>): void {
    this[connection.state].add(connection);
  }

  remove(connection: Connection<Message>): void {
    this[connection.state].delete(connection);
  }

  move(connection: Connection<Message>, to: ConnectionState): void {
    this[connection.state].delete(connection);
    connection.state = to;
    this[to].add(connection);
  }

  /** Connections that have a socket, as a copy, because the caller may move them while it iterates. */
  open(): Connection<Message>[] {
    return [...this.connecting, ...this.ready, ...this.full, ...this.draining];
  }

  find(connectionId: string): Connection<Message> | undefined {
    return this.open().find((connection) => connection.id === connectionId);
  }

  /**
   * Returns the ready connection of the best rank with the fewest requests in flight. A suspect connection is chosen
   * only if no other is ready, because a slow switch may have no other connection.
   */
  choose(isSuspect: (connection: Connection<Message>) => boolean): Connection<Message> | undefined {
    return this.#best((connection) => !isSuspect(connection)) ?? this.#best(() => true);
  }

  #best(isWanted: (connection: Connection<Message>) => boolean): Connection<Message> | undefined {
    let best: Connection<Message> | undefined;
    for (const connection of this.ready) {
      const isBetter =
        !best || connection.rank < best.rank || (connection.rank === best.rank && connection.load < best.load);
      if (isBetter && isWanted(connection)) best = connection;
    }
    return best;
  }
}

/** Keeps one connection to one address: it dials, and after the connection has ended it waits and dials again. */
export class Redialer<Message> extends Deadline {
  readonly #dial: (previous: Connection<Message> | undefined) => Connection<Message>;
  readonly #deadlines: Deadlines;
  readonly #backoff: Backoff;
  #connection: Connection<Message> | undefined = undefined;
  #isHeld = false;

  /** @param dial starts to connect, in place of the connection that ended before */
  constructor(
    dial: (previous: Connection<Message> | undefined) => Connection<Message>,
    deadlines: Deadlines,
    backoff: { readonly limits: BackoffLimits; readonly random: () => number },
  ) {
    super();
    this.#dial = dial;
    this.#deadlines = deadlines;
    this.#backoff = new Backoff(backoff.limits, backoff.random);
  }

  dial(): void {
    this.#connection = this.#dial(this.#connection);
  }

  /** Whether dialling is suspended until `release`. */
  get isHeld(): boolean {
    return this.#isHeld;
  }

  /** Whether it maintains this connection, or would dial in its place. */
  keeps(connection: Connection<Message>): boolean {
    return this.#connection === connection;
  }

  /** Does not dial again after the connection has ended. */
  hold(): void {
    this.#isHeld = true;
    this.stop();
  }

  /** Dials again; at once if the connection has ended meanwhile. */
  release(): void {
    if (!this.#isHeld) return;
    this.#isHeld = false;
    if (this.#connection?.isClosed) this.dial();
  }

  /** @param hasProvenItself whether the connection was ready for long enough to restart the backoff */
  redialLater(hasProvenItself: boolean): void {
    if (hasProvenItself) this.#backoff.reset();
    if (!this.#isHeld) this.#deadlines.schedule(this, this.#deadlines.monotonicMs() + this.#backoff.nextDelayMs());
  }

  stop(): void {
    this.#deadlines.cancel(this);
  }

  override onDue(): void {
    this.dial();
  }
}
