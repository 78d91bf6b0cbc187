const SECOND_MS = 1_000;

/**
 * Limits log lines per second for faults that a misbehaving switch causes in every message. The counters still count
 * all of them.
 */
export class LogBudget {
  readonly #linesPerSecond: number;
  #secondStartedAtMs = Number.NEGATIVE_INFINITY;
  #lines = 0;
  #suppressed = 0;

  constructor(linesPerSecond: number) {
    this.#linesPerSecond = linesPerSecond;
  }

  /** Writes a line unless the limit of this second is used up. A line states how many were suppressed before it. */
  spend(monotonicMs: number, write: (suppressed: number) => void): void {
    if (monotonicMs - this.#secondStartedAtMs >= SECOND_MS) {
      this.#secondStartedAtMs = monotonicMs;
      this.#lines = 0;
    }
    if (this.#lines >= this.#linesPerSecond) {
      this.#suppressed++;
      return;
    }
    this.#lines++;
    const suppressed = this.#suppressed;
    this.#suppressed = 0;
    write(suppressed);
  }
}
