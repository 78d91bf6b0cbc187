import { Backoff, type BackoffLimits } from '../../basics/limits/waits.ts';
import type { Connection } from './connection.ts';
import { Deadline, type Deadlines } from './deadlines.ts';

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
