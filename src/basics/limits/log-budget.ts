const SECOND_MS = 1_000;

/**
 * Limits log lines for faults that a misbehaving switch or an outage of the database causes again and again. The counters
 * still count all of them.
 */
export class LogBudget {
  readonly #most: number;
  readonly #periodMs: number;
  #periodStartedAtMs = Number.NEGATIVE_INFINITY;
  #lines = 0;
  #suppressed = 0;

  /** @param most lines in each period */
  constructor(most: number, periodMs = SECOND_MS) {
    this.#most = most;
    this.#periodMs = periodMs;
  }

  /** Writes a line unless the limit of this period is used up. A line states how many were suppressed before it. */
  spend(monotonicMs: number, write: (suppressed: number) => void): void {
    if (monotonicMs - this.#periodStartedAtMs >= this.#periodMs) {
      this.#periodStartedAtMs = monotonicMs;
      this.#lines = 0;
    }
    if (this.#lines >= this.#most) {
      this.#suppressed++;
      return;
    }
    this.#lines++;
    const suppressed = this.#suppressed;
    this.#suppressed = 0;
    write(suppressed);
  }
}
