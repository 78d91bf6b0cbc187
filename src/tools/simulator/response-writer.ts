import type { Socket } from 'node:net';
import {
  type Framing,
  largestFrameBytesOf,
  prefixBytesOf,
  writeFraming,
} from '../../codecs/iso8583/network/framing.ts';
import { type IsoMessage, MacPlace, type MessageCodec, type Processor } from '../../kits/processor-kit/index.ts';
import type { Reaction } from './simulated-switch.ts';

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
export class ResponseBuffer {
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

/** The body of a frame that is not a message in any dialect. */
const GARBAGE = new TextEncoder().encode('THIS IS NO MESSAGE');

/** Inverts every bit of a MAC. One bit would suffice, but all bits are easier to see in a trace. */
const ALL_BITS = 0xff;

/**
 * Writes the messages of one connection, whole or spoiled. All responses to one chunk are sent in one write, without a
 * timer.
 */
export class ResponseWriter {
  readonly #options;
  readonly #responses: ResponseBuffer;
  #isGathering = false;
  #isFlushPlanned = false;

  constructor(options: {
    readonly socket: Socket;
    readonly processor: Processor;
    readonly codec: MessageCodec;
  }) {
    const { socket, processor } = options;
    this.#options = options;
    this.#responses = new ResponseBuffer(processor.framing, (bytes, onWritten) => socket.write(bytes, onWritten));
  }

  /** True when the peer has more unread data than allowed. */
  get isOverfull(): boolean {
    return this.#responses.isOverfull;
  }

  /** Sends everything that is written during the call at its end. */
  together(work: () => void): void {
    this.#isGathering = true;
    try {
      work();
    } finally {
      this.#isGathering = false;
    }
    this.flush();
  }

  write(message: IsoMessage, header?: Uint8Array): void {
    this.#append((target, offset) => this.#options.codec.encode(message, target, offset), header);
  }

  writeSpoiled(response: IsoMessage, spoil: Reaction['spoil'], header?: Uint8Array): void {
    switch (spoil) {
      case 'garbage':
        this.#writeGarbage(header);
        break;
      case 'disconnect':
        this.#disconnectInside(response, header);
        break;
      case 'badMac':
        this.#writeWithBadMac(response, header);
        break;
      case 'duplicate':
        this.write(response, header);
        this.write(response, header);
        break;
      default:
        this.write(response, header);
    }
  }

  flush(): void {
    if (!this.#options.socket.destroyed) this.#responses.flush();
  }

  #writeGarbage(header?: Uint8Array): void {
    this.#append((target, offset) => {
      target.set(GARBAGE, offset);
      return offset + GARBAGE.length;
    }, header);
  }

  /** The MAC field is present even if no MAC was agreed: an unexpected MAC is as bad as a wrong one. */
  #writeWithBadMac(response: IsoMessage, header?: Uint8Array): void {
    const { processor, codec } = this.#options;
    const rule = processor.mac;
    if (rule === undefined) {
      this.write(response, header);
      return;
    }
    // A codec with keys replaces it.
    new MacPlace(rule, codec.spec ?? processor.spec).put(response, new Uint8Array(rule.lengthBytes));
    this.#append((target, offset) => {
      const end = codec.encode(response, target, offset);
      for (let at = end - rule.lengthBytes; at < end; at++) target[at]! ^= ALL_BITS;
      return end;
    }, header);
  }

  /** Announces the full length of the response, writes half of it, and closes the connection. */
  #disconnectInside(response: IsoMessage, header?: Uint8Array): void {
    const { socket, codec } = this.#options;
    this.flush();
    this.#responses.append((target, offset) => codec.encode(response, target, offset), header);
    this.#responses.flush(Math.ceil(this.#responses.waitingBytes / 2));
    socket.destroySoon();
  }

  #append(writeMessage: WriteMessage, header?: Uint8Array): void {
    this.#responses.append(writeMessage, header);
    if (this.#isGathering || this.#isFlushPlanned) return;
    this.#isFlushPlanned = true;
    setImmediate(() => {
      this.#isFlushPlanned = false;
      this.flush();
    });
  }
}
