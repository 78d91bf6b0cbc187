/**
 * How many keys are remembered at least. At full speed that is a fraction of a second of answers, in ordinary traffic
 * minutes: enough to tell a duplicate at once. What is older is looked up in the database.
 */
const REMEMBERED_KEYS = 8_192;

/** The keys of requests that have ended, with the instant of their end; the oldest are forgotten, many at a time. */
export class RecentKeys {
  #current = new Map<string, number>();
  #previous = new Map<string, number>();

  add(key: string, endedAtMs: number): void {
    if (this.#current.size >= REMEMBERED_KEYS) {
      this.#previous = this.#current;
      this.#current = new Map();
    }
    this.#current.set(key, endedAtMs);
  }

  get(key: string): number | undefined {
    return this.#current.get(key) ?? this.#previous.get(key);
  }
}
