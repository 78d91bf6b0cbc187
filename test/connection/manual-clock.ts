import type { Clock } from '../../src/switching/connection/deadlines.ts';

/** A clock that moves only when the test advances it. */
export class ManualClock implements Clock {
  #nowMs = 1_000;
  #wakes: { atMs: number; callback: () => void }[] = [];

  monotonicMs(): number {
    return this.#nowMs;
  }

  /** The number of set timers. */
  get timers(): number {
    return this.#wakes.length;
  }

  wakeAfter(delayMs: number, callback: () => void): () => void {
    const wake = { atMs: this.#nowMs + delayMs, callback };
    this.#wakes.push(wake);
    return () => {
      this.#wakes = this.#wakes.filter((other) => other !== wake);
    };
  }

  /** Advances the clock and calls due timers in order. */
  advance(ms: number): void {
    const endsAtMs = this.#nowMs + ms;
    for (;;) {
      const next = this.#wakes.filter(({ atMs }) => atMs <= endsAtMs).sort((a, b) => a.atMs - b.atMs)[0];
      if (!next) break;
      this.#wakes = this.#wakes.filter((other) => other !== next);
      this.#nowMs = Math.max(this.#nowMs, next.atMs);
      next.callback();
    }
    this.#nowMs = endsAtMs;
  }
}
