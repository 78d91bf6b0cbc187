import { type Framing, writeFrameHeader } from '../connection/framing.ts';

/** Enough for the answers to a few hundred requests that came in one chunk. */
const CHUNK_BYTES = 65_536;

/** A peer that asks and does not read: with this many chunks unread (16 MB or more) it is given up. */
const MAX_LENT_CHUNKS = 256;

/** Chunks kept for the next answers; the rest of a burst goes back to the heap. */
const MAX_SPARE_CHUNKS = 8;

/** Writes a message at an offset and gives its end. */
export type WriteMessage = (target: Uint8Array, offset: number) => number;

/** The socket's side: takes the bytes, and calls back once it no longer needs them. */
export type WriteBytes = (bytes: Uint8Array, onWritten: () => void) => void;

/**
 * Answers on their way out: encoded one behind the other into memory that is used again, handed to the socket in one
 * write. Memory that the socket holds is not touched until it says so.
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
    this.#frameBytes = framing.lengthBytes + framing.maxFrameBytes;
    this.#chunk = this.#newChunk();
  }

  /** True when the peer has left more unread than it may. */
  get isOverfull(): boolean {
    return this.#lent > MAX_LENT_CHUNKS;
  }

  /** Adds one frame. Whatever `writeMessage` throws leaves the buffer as it was. */
  append(writeMessage: WriteMessage, header: Uint8Array | undefined): void {
    if (this.#chunk.length - this.#end < this.#frameBytes) this.flush();
    const start = this.#end + this.#framing.lengthBytes + (header?.length ?? 0);
    const end = writeMessage(this.#chunk, start);
    writeFrameHeader(this.#framing, header, this.#chunk, start, end);
    this.#end = end;
  }

  /** Hands everything to the socket; only the first `bytesMost` of it, when given. */
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
