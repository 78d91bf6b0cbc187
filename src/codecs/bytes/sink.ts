/** A writing position in bytes. `position` moves; nothing is written at or after `end`. */
export class Sink {
  readonly target: Uint8Array;
  /** Where the message begins. */
  readonly origin: number;
  readonly end: number;
  position: number;

  constructor(target: Uint8Array, offset: number, end: number) {
    this.target = target;
    this.origin = offset;
    this.position = offset;
    this.end = end;
  }
}

/**
 * A buffer for results of unknown length. It grows to the longest result, and is wiped after each use, because its
 * content can be card data.
 */
export class Scratch {
  readonly #most: number;
  #bytes: Uint8Array;

  constructor(first: number, most: number) {
    this.#bytes = new Uint8Array(first);
    this.#most = most;
  }

  /**
   * Returns a copy of the bytes that `write` puts at the start of its target; `write` returns their end.
   *
   * @param isTooSmall recognizes the errors with which `write` asks for a longer target
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
