/** Between the bounds of a backoff, both in milliseconds. */
export interface BackoffLimits {
  readonly firstMs: number;
  readonly mostMs: number;
}

/** Past this many doublings every backoff in use has reached its bound; stopping here keeps the power finite. */
const MOST_DOUBLINGS = 30;

/**
 * How long to wait before the next attempt: anything from nothing up to a bound that doubles with each attempt ("full
 * jitter"), so that a thousand clients of a switch that came back do not all knock at once.
 */
export class Backoff {
  readonly #limits: BackoffLimits;
  readonly #random: () => number;
  #attempts = 0;

  /** @param random gives a number from 0 up to but not including 1 */
  constructor(limits: BackoffLimits, random: () => number = Math.random) {
    this.#limits = limits;
    this.#random = random;
  }

  nextDelayMs(): number {
    const boundMs = Math.min(this.#limits.mostMs, this.#limits.firstMs * 2 ** this.#attempts);
    this.#attempts = Math.min(this.#attempts + 1, MOST_DOUBLINGS);
    return this.#random() * boundMs;
  }

  /** To be called only once a connection has proved itself, or a switch that accepts and drops would be hammered. */
  reset(): void {
    this.#attempts = 0;
  }
}
