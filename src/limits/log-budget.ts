const SECOND_MS = 1_000;

/** How many lines a second may have, for what a misbehaving switch does in every message. The counters count them all. */
export class LogBudget {
  readonly #linesPerSecond: number;
  #secondStartMs = Number.NEGATIVE_INFINITY;
  #lines = 0;
  #suppressed = 0;

  constructor(linesPerSecond: number) {
    this.#linesPerSecond = linesPerSecond;
  }

  /** Writes a line unless this second has had its share; a line tells how many were left out before it. */
  spend(monotonicMs: number, write: (suppressed: number) => void): void {
    if (monotonicMs - this.#secondStartMs >= SECOND_MS) {
      this.#secondStartMs = monotonicMs;
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
