/**
 * Minimum number of keys that are remembered. At full speed it covers a fraction of a second of responses, in
 * ordinary traffic minutes: enough to recognise a duplicate at once. Older ones are looked up in the database.
 */
const REMEMBERED_KEYS = 8_192;

/** Keys in the order in which their requests ended. They are indexed only when one is looked up, which is rare. */
class Generation {
  readonly #keys: string[] = [];
  readonly #endedAtMs = new Float64Array(REMEMBERED_KEYS);
  #index: Map<string, number> | undefined = undefined;
  #indexedKeys = 0;

  get isFull(): boolean {
    return this.#keys.length === REMEMBERED_KEYS;
  }

  add(key: string, endedAtMs: number): void {
    this.#endedAtMs[this.#keys.length] = endedAtMs;
    this.#keys.push(key);
  }

  get(key: string): number | undefined {
    this.#index ??= new Map();
    for (; this.#indexedKeys < this.#keys.length; this.#indexedKeys++) {
      this.#index.set(this.#keys[this.#indexedKeys]!, this.#endedAtMs[this.#indexedKeys]!);
    }
    return this.#index.get(key);
  }
}

/** The keys of requests that have ended, with the time of their end. The oldest are dropped in groups. */
export class RecentKeys {
  #current = new Generation();
  #previous = new Generation();

  add(key: string, endedAtMs: number): void {
    if (this.#current.isFull) {
      this.#previous = this.#current;
      this.#current = new Generation();
    }
    this.#current.add(key, endedAtMs);
  }

  get(key: string): number | undefined {
    return this.#current.get(key) ?? this.#previous.get(key);
  }
}
