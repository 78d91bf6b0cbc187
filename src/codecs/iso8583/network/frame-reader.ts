import { ConnectionError } from '../../../basics/errors/gateway-errors.ts';
import { type Framing, lengthHeaderOf, trailerBytesOf, transportBytesOf } from './framing.ts';
import { headerBytesOf, type LengthHeader, readLengthHeader } from './length-headers.ts';

/**
 * Called with each complete frame. The message is `bytes` from `start` to `end`; its transport header ends at
 * `start`, its trailer begins at `end`.
 */
export type OnFrame = (bytes: Uint8Array, start: number, end: number) => void;

const NO_TRAILER = new Uint8Array(0);

/**
 * Splits a stream into frames. A frame that is complete within a chunk is passed on without a copy. Only a frame
 * split between chunks is collected, in a buffer of its own, because readers may keep views of a frame.
 */
export class FrameReader {
  readonly #header: LengthHeader;
  readonly #headerBytes: number;
  readonly #transportBytes: number;
  readonly #trailer: Uint8Array;
  readonly #leastBytes: number;
  readonly #maxFrameBytes: number;
  readonly #onFrame: OnFrame;
  #stopped = false;
  /** The start of an incomplete frame: first its length header, then room for the whole frame. */
  #split: Uint8Array;
  #splitBytes = 0;
  readonly #splitHeader: Uint8Array;

  constructor(framing: Framing, onFrame: OnFrame) {
    this.#header = lengthHeaderOf(framing);
    this.#headerBytes = headerBytesOf(this.#header);
    this.#transportBytes = transportBytesOf(framing);
    this.#trailer = framing.trailer ?? NO_TRAILER;
    this.#leastBytes = this.#transportBytes + trailerBytesOf(framing) + 1;
    this.#maxFrameBytes = framing.maxFrameBytes;
    this.#onFrame = onFrame;
    this.#splitHeader = new Uint8Array(this.#headerBytes);
    this.#split = this.#splitHeader;
  }

  /**
   * Takes the next bytes of the stream. The caller must not write to the chunk afterwards.
   * @throws ConnectionError FRAME_LENGTH_INVALID, FRAME_TOO_SHORT, FRAME_TOO_LONG or FRAME_TRAILER_INVALID: the stream can no longer be read.
   */
  push(chunk: Uint8Array): void {
    if (this.#stopped) return;
    const headerBytes = this.#headerBytes;
    let at = this.#splitBytes === 0 ? 0 : this.#gather(chunk, 0);
    while (chunk.length - at >= headerBytes && !this.#stopped) {
      const end = at + this.#frameBytes(chunk, at);
      if (end > chunk.length) break;
      if (end > at + headerBytes) this.#pass(chunk, at + headerBytes + this.#transportBytes, end);
      at = end;
    }
    if (at < chunk.length && !this.#stopped) this.#gather(chunk, at);
  }

  /** Passes on no further frame, not even from the rest of the current chunk. */
  stop(): void {
    this.#stopped = true;
  }

  /**
   * The length in bytes of the frame that starts at `at`, including its length header. A frame without content is a
   * keep-alive of the transport (jPOS sends them), without a transport header, and is passed over.
   */
  #frameBytes(bytes: Uint8Array, at: number): number {
    const length = readLengthHeader(this.#header, bytes, at);
    if (length === 0) return this.#headerBytes;
    if (Number.isNaN(length)) throw new ConnectionError('FRAME_LENGTH_INVALID');
    if (length > this.#maxFrameBytes)
      throw new ConnectionError('FRAME_TOO_LONG', `${length} bytes, ${this.#maxFrameBytes} at most`);
    if (length < 0) throw new ConnectionError('FRAME_TOO_SHORT', `${length} bytes`);
    if (length < this.#leastBytes) throw new ConnectionError('FRAME_TOO_SHORT', `${length} bytes with their header`);
    return this.#headerBytes + length;
  }

  /** Collects the frame that is split between chunks. @returns the position in the chunk after its bytes */
  #gather(chunk: Uint8Array, from: number): number {
    const headerBytes = this.#headerBytes;
    let at = from;
    if (this.#splitBytes < headerBytes) {
      at += this.#copyIntoSplit(chunk, at);
      if (this.#splitBytes < headerBytes) return at;
      const whole = Buffer.allocUnsafeSlow(this.#frameBytes(this.#splitHeader, 0));
      whole.set(this.#splitHeader);
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
    this.#split = this.#splitHeader;
    this.#splitBytes = 0;
    if (whole.length > this.#headerBytes) this.#pass(whole, this.#headerBytes + this.#transportBytes, whole.length);
  }

  /** A frame without its trailer is not where the switch has ended it: its length cannot be trusted. */
  #pass(bytes: Uint8Array, start: number, end: number): void {
    const messageEnd = end - this.#trailer.length;
    for (let index = 0; index < this.#trailer.length; index++) {
      if (bytes[messageEnd + index] !== this.#trailer[index]) throw new ConnectionError('FRAME_TRAILER_INVALID');
    }
    this.#onFrame(bytes, start, messageEnd);
  }
}
