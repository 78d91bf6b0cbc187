import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { FrameReader } from '../../src/codecs/iso8583/network/frame-reader.ts';
import type { IsoMessage, Processor } from '../../src/kits/processor-kit/index.ts';
import { frameOf } from '../support/frame-of.ts';

/** A connection for arbitrary bytes: complete frames or any others, and the responses. */
export class RawLine {
  readonly #socket: Socket;
  readonly #processor: Processor;
  readonly #received: IsoMessage[] = [];
  #onMessage: (() => void) | undefined;

  private constructor(socket: Socket, processor: Processor) {
    this.#socket = socket;
    this.#processor = processor;
    const codec = processor.codec(processor.exampleConfig);
    const frames = new FrameReader(processor.framing, (bytes, start, end) => {
      this.#received.push(codec.decode(bytes, start, end));
      this.#onMessage?.();
    });
    socket.on('data', (chunk) => frames.push(chunk));
    socket.on('error', () => {});
  }

  static async open(port: number, processor: Processor): Promise<RawLine> {
    const socket = connect(port, '127.0.0.1');
    await once(socket, 'connect');
    socket.setNoDelay(true);
    return new RawLine(socket, processor);
  }

  frame(message: IsoMessage): Uint8Array {
    const target = new Uint8Array(this.#processor.framing.maxFrameBytes);
    const codec = this.#processor.codec(this.#processor.exampleConfig);
    return frameOf(this.#processor.framing, target.subarray(0, codec.encode(message, target, 0)));
  }

  write(bytes: Uint8Array): void {
    this.#socket.write(bytes);
  }

  /** Writes the pieces one by one, each in its own segment. */
  async writePieces(pieces: readonly Uint8Array[]): Promise<void> {
    for (const piece of pieces) {
      await new Promise<void>((resolve) => this.#socket.write(piece, () => setImmediate(resolve)));
    }
  }

  /** The next received message. */
  async next(): Promise<IsoMessage> {
    while (this.#received.length === 0) {
      await new Promise<void>((resolve) => {
        this.#onMessage = resolve;
      });
    }
    return this.#received.shift()!;
  }

  /** Resolves when the switch has closed the connection. */
  async closed(): Promise<void> {
    if (!this.#socket.closed) await once(this.#socket, 'close');
  }

  end(): void {
    this.#socket.destroy();
  }
}
