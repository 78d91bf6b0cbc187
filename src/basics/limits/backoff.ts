/** The bounds of a backoff, both in milliseconds. */
export interface BackoffLimits {
  readonly firstMs: number;
  readonly mostMs: number;
}

/** Every backoff in use has reached its bound after this many doublings; the limit keeps the power finite. */
const MOST_DOUBLINGS = 30;

/**
 * The time to wait before the next attempt: a random time from zero to a bound that doubles with each attempt ("full
 * jitter"). A thousand clients of a restarted switch therefore do not all reconnect at once.
 */
export class Backoff {
  readonly #limits: BackoffLimits;
  readonly #random: () => number;
  #attempts = 0;

  /** @param random returns a number from 0 (inclusive) to 1 (exclusive) */
  constructor(limits: BackoffLimits, random: () => number = Math.random) {
    this.#limits = limits;
    this.#random = random;
  }

  nextDelayMs(): number {
    const boundMs = Math.min(this.#limits.mostMs, this.#limits.firstMs * 2 ** this.#attempts);
    this.#attempts = Math.min(this.#attempts + 1, MOST_DOUBLINGS);
    return this.#random() * boundMs;
  }

  /**
   * Call this only after the connection has proved to work. Otherwise a switch that accepts and drops connections
   * would be flooded.
   */
  reset(): void {
    this.#attempts = 0;
  }
}
