import { ConnectionError } from '../errors.ts';

/** Much longer than any ISO 8583 message. A connection reserves room for several of its longest frames. */
const LARGEST_FRAME_BYTES = 2 ** 20;

/** How messages are delimited in the stream: a big-endian length, an optional transport header, the message. */
export interface Framing {
  /** Length of the big-endian length in bytes. */
  readonly lengthBytes: 2 | 4;
  /** Whether the length counts its own bytes. */
  readonly lengthIncludesHeader: boolean;
  /**
   * Bytes between the length and the message (a TPDU), counted by the length. Sent as given; a response swaps its
   * addresses.
   */
  readonly transportHeader?: Uint8Array | undefined;
  /** The longest frame that either side may send, in bytes without the length and with the transport header. */
  readonly maxFrameBytes: number;
}

/**
 * Called with each complete frame. The message is `bytes` from `start` to `end`; its transport header ends at
 * `start`.
 */
export type OnFrame = (bytes: Uint8Array, start: number, end: number) => void;

/** @throws ConnectionError FRAMING_INVALID if no frame could satisfy the framing. */
export function checkFraming(framing: Framing): void {
  const headerBytes = framing.transportHeader?.length ?? 0;
  const countable = 2 ** (8 * framing.lengthBytes) - 1 - (framing.lengthIncludesHeader ? framing.lengthBytes : 0);
  const longest = Math.min(countable, LARGEST_FRAME_BYTES);
  const { maxFrameBytes } = framing;
  if (!Number.isInteger(maxFrameBytes) || maxFrameBytes <= headerBytes || maxFrameBytes > longest) {
    throw new ConnectionError('FRAMING_INVALID', `maxFrameBytes ${maxFrameBytes}`);
  }
}

/** Writes the length and the transport header before a message that starts at `messageStart`. */
export function writeFrameHeader(
  framing: Framing,
  header: Uint8Array | undefined,
  target: Uint8Array,
  messageStart: number,
  messageEnd: number,
): void {
  let at = messageStart;
  if (header) {
    at -= header.length;
    target.set(header, at);
  }
  let length = messageEnd - at + (framing.lengthIncludesHeader ? framing.lengthBytes : 0);
  for (let byte = 0; byte < framing.lengthBytes; byte++) {
    target[--at] = length & 0xff;
    length >>>= 8;
  }
}

/** The header of a response. A TPDU is an id followed by destination and source, which swap places. */
export function answerHeader(header: Uint8Array): Uint8Array {
  const half = (header.length - 1) / 2;
  const answer = Uint8Array.from(header);
  if (!Number.isInteger(half) || half < 1) return answer;
  answer.set(header.subarray(1 + half), 1);
  answer.set(header.subarray(1, 1 + half), 1 + half);
  return answer;
}

/**
 * Splits a stream into frames. A frame that is complete within a chunk is passed on without a copy. Only a frame
 * split between chunks is collected, in a buffer of its own, because readers may keep views of a frame.
 */
export class FrameReader {
  readonly #framing: Framing;
  readonly #headerBytes: number;
  readonly #onFrame: OnFrame;
  #stopped = false;
  /** The start of an incomplete frame: first its length bytes, then room for the whole frame. */
  #split: Uint8Array;
  #splitBytes = 0;
  readonly #splitLength: Uint8Array;

  constructor(framing: Framing, onFrame: OnFrame) {
    this.#framing = framing;
    this.#headerBytes = framing.transportHeader?.length ?? 0;
    this.#onFrame = onFrame;
    this.#splitLength = new Uint8Array(framing.lengthBytes);
    this.#split = this.#splitLength;
  }

  /**
   * Takes the next bytes of the stream. The caller must not write to the chunk afterwards.
   * @throws ConnectionError FRAME_TOO_SHORT or FRAME_TOO_LONG: the stream can no longer be read.
   */
  push(chunk: Uint8Array): void {
    if (this.#stopped) return;
    const { lengthBytes } = this.#framing;
    let at = this.#splitBytes === 0 ? 0 : this.#gather(chunk, 0);
    while (chunk.length - at >= lengthBytes && !this.#stopped) {
      const end = at + this.#frameBytes(chunk, at);
      if (end > chunk.length) break;
      if (end > at + lengthBytes) this.#onFrame(chunk, at + lengthBytes + this.#headerBytes, end);
      at = end;
    }
    if (at < chunk.length && !this.#stopped) this.#gather(chunk, at);
  }

  /** Passes on no further frame, not even from the rest of the current chunk. */
  stop(): void {
    this.#stopped = true;
  }

  /**
   * The length in bytes of the frame that starts at `at`, including the length itself. A frame without content is a
   * keep-alive of the transport (jPOS sends them), without a transport header, and is passed over.
   */
  #frameBytes(bytes: Uint8Array, at: number): number {
    const { lengthBytes, lengthIncludesHeader, maxFrameBytes } = this.#framing;
    let length = 0;
    for (let byte = 0; byte < lengthBytes; byte++) length = length * 256 + bytes[at + byte]!;
    if (lengthIncludesHeader) length -= lengthBytes;
    if (length > maxFrameBytes)
      throw new ConnectionError('FRAME_TOO_LONG', `${length} bytes, ${maxFrameBytes} at most`);
    if (length < 0) throw new ConnectionError('FRAME_TOO_SHORT', `${length} bytes`);
    if (length === 0) return lengthBytes;
    if (length <= this.#headerBytes) throw new ConnectionError('FRAME_TOO_SHORT', `${length} bytes with their header`);
    return lengthBytes + length;
  }

  /** Collects the frame that is split between chunks. @returns the position in the chunk after its bytes */
  #gather(chunk: Uint8Array, from: number): number {
    const { lengthBytes } = this.#framing;
    let at = from;
    if (this.#splitBytes < lengthBytes) {
      at += this.#copyIntoSplit(chunk, at);
      if (this.#splitBytes < lengthBytes) return at;
      const whole = Buffer.allocUnsafeSlow(this.#frameBytes(this.#splitLength, 0));
      whole.set(this.#splitLength);
      this.#split = whole;
    }
    at += this.#copyIntoSplit(chunk, at);
    if (this.#splitBytes === this.#split.length) this.#endSplit();
    return at;
  }

  #copyIntoSplit(chunk: Uint8Array, at: number): number {
    const count = Math.min(this.#split.length - this.#splitBytes, chunk.length - at);
    this.#split.set(chunk.subarray(at, at + count), this.#splitBytes);
    this.#splitBytes += count;
    return count;
  }

  #endSplit(): void {
    const whole = this.#split;
    this.#split = this.#splitLength;
    this.#splitBytes = 0;
    if (whole.length > this.#framing.lengthBytes)
      this.#onFrame(whole, this.#framing.lengthBytes + this.#headerBytes, whole.length);
  }
}
