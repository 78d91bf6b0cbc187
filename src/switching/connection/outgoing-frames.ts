import { ConnectionError } from '../../basics/errors.ts';
import {
  largestFrameBytesOf,
  prefixBytesOf,
  trailerBytesOf,
  writeFraming,
} from '../../codecs/iso8583/network/framing.ts';
import type { SwitchProtocol } from '../../codecs/iso8583/network/switch-protocol.ts';

/** An encoded frame that is not yet written, as its owner sees it. Times are of the monotonic clock. */
export interface OutgoingFrame {
  /** The frame is dropped instead of written after this time. */
  readonly sendByAtMs: number;
  /** Set when its bytes are passed to the socket; negative before. */
  writtenAtMs: number;
  /** Set when it is encoded: the batch that contains it. */
  batch: number;
}

/** Enough for a few hundred messages of one tick in one write. */
const CHUNK_BYTES = 65_536;

/** Spare chunks kept for the next burst. With them, a burst of several thousand messages allocates nothing. */
const MAX_SPARE_CHUNKS = 16;

/** A block of memory into which messages are encoded. */
interface Chunk {
  readonly bytes: Buffer;
  /** The number of writes that the socket has not finished. */
  lent: number;
  /** End of the bytes passed to the socket since the chunk was last wiped. */
  lentEnd: number;
}

/** Frames to be written at once, and frames that are too late. */
interface Batch {
  readonly number: number;
  readonly chunk: Chunk;
  readonly bytes: Uint8Array | undefined;
  readonly refused: readonly OutgoingFrame[] | undefined;
}

/** The socket's side: writes the bytes, and calls back when it no longer needs them. */
export type WriteBytes = (bytes: Uint8Array, onWritten: () => void) => void;

/**
 * The output of one connection. Messages are encoded in place, header and body together, and all messages of one tick
 * leave in one write. Bytes passed to the socket stay unchanged until the socket has finished with them.
 */
export class OutgoingFrames<Message> {
  readonly #protocol: SwitchProtocol<Message>;
  readonly #write: WriteBytes;
  readonly #onRefused: (frame: OutgoingFrame) => void;
  readonly #prefixBytes: number;
  readonly #largestFrameBytes: number;
  /** Where the message of the longest frame ends, counted from the start of the frame. */
  readonly #largestMessageEnd: number;
  #chunk: Chunk;
  readonly #spare: Chunk[] = [];
  /** The frames encoded since the last write, with the start of the first and the end of each. */
  #frames: OutgoingFrame[] = [];
  readonly #ends: number[] = [];
  #start = 0;
  #end = 0;
  #earliestSendByAtMs = Number.POSITIVE_INFINITY;
  #batch = 1;
  #lastWrittenBatch = 0;

  /** @param onRefused called with each frame that was due to be written after its `sendByAtMs`, and was not */
  constructor(protocol: SwitchProtocol<Message>, write: WriteBytes, onRefused: (frame: OutgoingFrame) => void) {
    const { framing } = protocol;
    this.#protocol = protocol;
    this.#write = write;
    this.#onRefused = onRefused;
    this.#prefixBytes = prefixBytesOf(framing);
    this.#largestFrameBytes = largestFrameBytesOf(framing);
    this.#largestMessageEnd = this.#largestFrameBytes - trailerBytesOf(framing);
    this.#chunk = this.#newChunk();
  }

  /**
   * Encodes a message after those that wait for the next `flush`.
   * @throws what the protocol's `encode` throws, or ConnectionError MESSAGE_LENGTH; nothing is written then
   */
  append(message: Message, frame: OutgoingFrame, monotonicMs: () => number, header?: Uint8Array): void {
    const { framing } = this.#protocol;
    while (this.#chunk.bytes.length - this.#end < this.#largestFrameBytes) this.#continueInNextChunk(monotonicMs());
    const messageStart = this.#end + this.#prefixBytes;
    const messageEnd = this.#encode(message, messageStart);
    const end = writeFraming(framing, this.#chunk.bytes, messageStart, messageEnd, header);
    this.#end = end;
    frame.batch = this.#batch;
    this.#frames.push(frame);
    this.#ends.push(end);
    if (frame.sendByAtMs < this.#earliestSendByAtMs) this.#earliestSendByAtMs = frame.sendByAtMs;
  }

  /** Passes everything encoded so far to the socket in one write, except frames that are too late. */
  flush(monotonicMs: number): void {
    this.#handOver(this.#takeBatch(monotonicMs));
  }

  /** Whether bytes of the frame may still be in this process. */
  isUnsent(frame: OutgoingFrame): boolean {
    return frame.batch > this.#lastWrittenBatch;
  }

  #newChunk(): Chunk {
    const lengthBytes = Math.max(CHUNK_BYTES, 2 * this.#largestFrameBytes);
    return { bytes: Buffer.allocUnsafeSlow(lengthBytes), lent: 0, lentEnd: 0 };
  }

  /** Wipes the remains of a message that cannot be sent, because they may be card data. */
  #encode(message: Message, messageStart: number): number {
    const { bytes } = this.#chunk;
    try {
      const messageEnd = this.#protocol.encode(message, bytes, messageStart);
      if (messageEnd > messageStart && messageEnd - this.#end <= this.#largestMessageEnd) return messageEnd;
    } catch (error) {
      bytes.fill(0, messageStart);
      throw error;
    }
    bytes.fill(0, messageStart);
    throw new ConnectionError('MESSAGE_LENGTH');
  }

  /** Takes the next chunk before the write, because a callback of the write may send a message. */
  #continueInNextChunk(monotonicMs: number): void {
    const batch = this.#takeBatch(monotonicMs);
    if (this.#chunk.lent > 0) this.#chunk = this.#spare.pop() ?? this.#newChunk();
    this.#start = 0;
    this.#end = 0;
    this.#handOver(batch);
  }

  #takeBatch(monotonicMs: number): Batch {
    const refused = monotonicMs > this.#earliestSendByAtMs ? this.#takeRefused(monotonicMs) : undefined;
    this.#earliestSendByAtMs = Number.POSITIVE_INFINITY;
    for (const frame of this.#frames) frame.writtenAtMs = monotonicMs;
    this.#frames.length = 0;
    this.#ends.length = 0;
    const chunk = this.#chunk;
    if (this.#end === this.#start) return { number: this.#batch, chunk, bytes: undefined, refused };
    const bytes = chunk.bytes.subarray(this.#start, this.#end);
    this.#start = this.#end;
    chunk.lent++;
    chunk.lentEnd = Math.max(chunk.lentEnd, this.#end);
    return { number: this.#batch++, chunk, bytes, refused };
  }

  #handOver({ number, chunk, bytes, refused }: Batch): void {
    if (bytes) {
      this.#write(bytes, () => {
        this.#lastWrittenBatch = number;
        this.#reuse(chunk);
      });
    }
    if (refused) for (const frame of refused) this.#onRefused(frame);
  }

  /**
   * When the socket has finished with all of a chunk, the chunk is wiped and reused. Card data does not outlive its
   * write.
   */
  #reuse(chunk: Chunk): void {
    chunk.lent--;
    const isCurrent = chunk === this.#chunk;
    if (chunk.lent > 0 || (isCurrent && this.#start !== this.#end)) return;
    chunk.bytes.fill(0, 0, chunk.lentEnd);
    chunk.lentEnd = 0;
    if (isCurrent) {
      this.#start = 0;
      this.#end = 0;
    } else if (this.#spare.length < MAX_SPARE_CHUNKS) this.#spare.push(chunk);
  }

  /** Moves the frames that may still be written over those that may not. The socket has none of them yet. */
  #takeRefused(monotonicMs: number): OutgoingFrame[] {
    const kept: OutgoingFrame[] = [];
    const refused: OutgoingFrame[] = [];
    let from = this.#start;
    let to = this.#start;
    for (const [index, frame] of this.#frames.entries()) {
      const end = this.#ends[index]!;
      if (monotonicMs > frame.sendByAtMs) {
        refused.push(frame);
      } else {
        this.#chunk.bytes.copyWithin(to, from, end);
        to += end - from;
        kept.push(frame);
      }
      from = end;
    }
    this.#chunk.bytes.fill(0, to, from);
    this.#end = to;
    this.#frames = kept;
    return refused;
  }
}
