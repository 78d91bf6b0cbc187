import type { Clock } from '../../src/connection/deadlines.ts';

/** A clock that stands still until the test moves it. */
export class ManualClock implements Clock {
  #nowMs = 1_000;
  #wakes: { atMs: number; callback: () => void }[] = [];

  monotonicMs(): number {
    return this.#nowMs;
  }

  /** How many timers are set. */
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

  /** Moves on, calling back in order what falls due on the way. */
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
