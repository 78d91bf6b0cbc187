const DAY_MS = 86_400_000;

/**
 * The business day of a simulated switch, which is in its responses (DE15). It begins with the present date in UTC and
 * changes at a cut-over only: it does not depend on the clocks of terminals.
 */
export class BusinessDay {
  #startMs: number;

  constructor(nowMs = Date.now()) {
    this.#startMs = startOfDay(nowMs);
  }

  /** YYYYMMDD. */
  get date(): string {
    return new Date(this.#startMs).toISOString().slice(0, 10).replaceAll('-', '');
  }

  /** The next day begins; after days without a cut-over, that of the present date. */
  cutOver(nowMs = Date.now()): void {
    this.#startMs = Math.max(this.#startMs + DAY_MS, startOfDay(nowMs));
  }
}

function startOfDay(ms: number): number {
  return Math.floor(ms / DAY_MS) * DAY_MS;
}
