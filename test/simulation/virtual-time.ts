/**
 * Time that passes only after everything that could happen now has happened: an hour of a history takes milliseconds.
 */
export class VirtualTime {
  nowMs = Date.parse('2026-03-01T10:00:00Z');
  readonly #queue: { atMs: number; order: number; run: () => void }[] = [];
  #order = 0;

  after(delayMs: number, run: () => void): void {
    this.at(this.nowMs + delayMs, run);
  }

  at(atMs: number, run: () => void): void {
    const entry = { atMs: Math.max(atMs, this.nowMs), order: this.#order++, run };
    let index = this.#queue.length;
    while (index > 0 && isLater(this.#queue[index - 1]!, entry)) index--;
    this.#queue.splice(index, 0, entry);
  }

  pass(delayMs: number): Promise<void> {
    return new Promise((resolve) => this.after(delayMs, resolve));
  }

  /** Runs until nothing is due, or until `untilMs`; returns whether nothing was due. */
  async run(untilMs: number): Promise<boolean> {
    for (;;) {
      await settled();
      const next = this.#queue[0];
      if (!next) return true;
      if (next.atMs > untilMs) return false;
      this.#queue.shift();
      this.nowMs = next.atMs;
      next.run();
    }
  }
}

function isLater(one: { atMs: number; order: number }, other: { atMs: number; order: number }): boolean {
  return one.atMs > other.atMs || (one.atMs === other.atMs && one.order > other.order);
}

/** Resolves when every promise that could settle has: a turn of the event loop comes only after all of them. */
function settled(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}
