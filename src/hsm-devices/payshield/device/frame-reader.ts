/** The largest I/O buffer of a device (NO, I/O buffer size 3). */
export const FRAME_BYTES_MOST = 32_768;

/** A length that no message can have. The bytes that follow cannot be divided into messages. */
export class FrameFault extends Error {}

/** Divides a byte stream into messages. It holds at most one incomplete message. */
export class FrameReader {
  readonly #leastBytes: number;
  #lengthHigh: number | undefined;
  #message: Uint8Array | undefined;
  #filled = 0;

  /** @param leastBytes a shorter message is a fault */
  constructor(leastBytes: number) {
    this.#leastBytes = leastBytes;
  }

  /**
   * Calls back with each message that is complete.
   *
   * @throws FrameFault
   */
  read(chunk: Uint8Array, onMessage: (message: Uint8Array) => void): void {
    let at = 0;
    while (at < chunk.length) {
      if (this.#message === undefined) this.#readLength(chunk[at++]!);
      else at += this.#fill(chunk.subarray(at));
      if (this.#message?.length === this.#filled) onMessage(this.#take(this.#message));
    }
  }

  #readLength(byte: number): void {
    if (this.#lengthHigh === undefined) {
      this.#lengthHigh = byte;
      return;
    }
    const length = (this.#lengthHigh << 8) | byte;
    this.#lengthHigh = undefined;
    if (length < this.#leastBytes || length > FRAME_BYTES_MOST) throw new FrameFault(`a length of ${length}`);
    this.#message = new Uint8Array(length);
    this.#filled = 0;
  }

  #fill(rest: Uint8Array): number {
    const message = this.#message!;
    const part = rest.subarray(0, message.length - this.#filled);
    message.set(part, this.#filled);
    this.#filled += part.length;
    return part.length;
  }

  #take(message: Uint8Array): Uint8Array {
    this.#message = undefined;
    return message;
  }
}

/** @param parts together at most FRAME_BYTES_MOST bytes */
export function frameOf(...parts: readonly Uint8Array[]): Uint8Array {
  const lengthBytes = parts.reduce((sum, part) => sum + part.length, 0);
  return Buffer.concat([Uint8Array.of(lengthBytes >> 8, lengthBytes & 0xff), ...parts]);
}
