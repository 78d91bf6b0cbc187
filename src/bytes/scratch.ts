/**
 * A place to write to when nobody knows yet how long the result is. It grows to the longest that was asked for, and is
 * wiped after each use: what passes through it can be card data.
 */
export class Scratch {
  readonly #most: number;
  #bytes: Uint8Array;

  constructor(first: number, most: number) {
    this.#bytes = new Uint8Array(first);
    this.#most = most;
  }

  /**
   * Gives a copy of what `write` writes from the beginning of its target on; it returns where it ended.
   *
   * @param isTooSmall tells the errors of `write` by which it asks for a longer target
   */
  copyOf(write: (target: Uint8Array) => number, isTooSmall: (error: unknown) => boolean): Uint8Array {
    for (;;) {
      const target = this.#bytes;
      try {
        const end = write(target);
        const copy = new Uint8Array(target.subarray(0, end));
        target.fill(0, 0, end);
        return copy;
      } catch (error) {
        target.fill(0);
        if (!isTooSmall(error) || target.length >= this.#most) throw error;
        this.#bytes = new Uint8Array(Math.min(this.#most, target.length * 4));
      }
    }
  }
}
