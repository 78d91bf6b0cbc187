import {
  type Framing,
  largestFrameBytesOf,
  prefixBytesOf,
  writeFraming,
} from '../../codecs/iso8583/network/framing.ts';

/** Enough for the responses to a few hundred requests that arrive in one chunk. */
const CHUNK_BYTES = 65_536;

/** A peer that sends requests without reading is disconnected at this number of unread chunks (16 MB or more). */
const MAX_LENT_CHUNKS = 256;

/** Chunks kept for the next responses; further chunks of a burst are freed. */
const MAX_SPARE_CHUNKS = 8;

/** Writes a message at an offset and returns its end. */
export type WriteMessage = (target: Uint8Array, offset: number) => number;

/** The socket's side: accepts the bytes, and calls back once it no longer needs them. */
export type WriteBytes = (bytes: Uint8Array, onWritten: () => void) => void;

/**
 * Outgoing responses, encoded one after the other into reused memory and passed to the socket in one write. Memory
 * that the socket uses is not changed until the socket releases it.
 */
export class AnswerBuffer {
  readonly #framing: Framing;
  readonly #write: WriteBytes;
  readonly #frameBytes: number;
  readonly #spare: Uint8Array[] = [];
  #chunk: Uint8Array;
  #end = 0;
  #lent = 0;

  constructor(framing: Framing, write: WriteBytes) {
    this.#framing = framing;
    this.#write = write;
    this.#frameBytes = largestFrameBytesOf(framing);
    this.#chunk = this.#newChunk();
  }

  /** True when the peer has more unread data than allowed. */
  get isOverfull(): boolean {
    return this.#lent > MAX_LENT_CHUNKS;
  }

  /** Adds one frame. If `writeMessage` throws, the buffer is unchanged. */
  append(writeMessage: WriteMessage, header: Uint8Array | undefined): void {
    if (this.#chunk.length - this.#end < this.#frameBytes) this.flush();
    const start = this.#end + prefixBytesOf(this.#framing);
    const end = writeMessage(this.#chunk, start);
    this.#end = writeFraming(this.#framing, this.#chunk, start, end, header);
  }

  /** Passes everything to the socket, or only the first `bytesMost` bytes. */
  flush(bytesMost = this.#end): void {
    if (this.#end === 0) return;
    const chunk = this.#chunk;
    const bytes = chunk.subarray(0, Math.min(bytesMost, this.#end));
    this.#chunk = this.#spare.pop() ?? this.#newChunk();
    this.#end = 0;
    this.#lent++;
    this.#write(bytes, () => {
      this.#lent--;
      if (this.#spare.length < MAX_SPARE_CHUNKS) this.#spare.push(chunk);
    });
  }

  /** Bytes waiting for the next flush. */
  get waitingBytes(): number {
    return this.#end;
  }

  #newChunk(): Uint8Array {
    return Buffer.allocUnsafeSlow(Math.max(CHUNK_BYTES, 2 * this.#frameBytes));
  }
}
