import { Backoff, type BackoffLimits } from './backoff.ts';
import type { Connection } from './connection.ts';
import { Deadline, type Deadlines } from './deadlines.ts';

/** Keeps one connection to one address: dials, and when the connection has ended waits and dials again. */
export class Redialer<Message> extends Deadline {
  readonly #dial: (previous: Connection<Message> | undefined) => Connection<Message>;
  readonly #deadlines: Deadlines;
  readonly #backoff: Backoff;
  #connection: Connection<Message> | undefined = undefined;

  /** @param dial begins to connect, in place of the connection that ended before */
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

  /** @param hasProvenItself whether the connection was ready for long enough to begin the backoff anew */
  redialLater(hasProvenItself: boolean): number {
    if (hasProvenItself) this.#backoff.reset();
    const delayMs = this.#backoff.nextDelayMs();
    this.#deadlines.schedule(this, this.#deadlines.nowMs() + delayMs);
    return delayMs;
  }

  stop(): void {
    this.#deadlines.cancel(this);
  }

  override onDue(): void {
    this.dial();
  }
}
