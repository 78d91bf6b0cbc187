import type { Socket } from 'node:net';

const HEAD_BYTES = 2;
/** A login with the longest name and password; a component has 32 bytes. */
const MOST_BYTES = 4_096;

/** Frames on the socket of a ceremony: two bytes of length, then the content. */
export class FrameSocket {
  /** Resolves when the connection has ended. */
  readonly closed: Promise<void>;
  readonly #socket: Socket;
  #received = Buffer.alloc(0);
  #isClosed = false;
  #waiting: ((frame: Buffer | undefined) => void) | undefined;

  constructor(socket: Socket) {
    this.#socket = socket;
    socket.on('data', (chunk) => {
      const before = this.#received;
      this.#received = Buffer.concat([before, chunk]);
      before.fill(0);
      chunk.fill(0);
      if (this.#received.length > HEAD_BYTES + MOST_BYTES) socket.destroy();
      this.#deliver();
    });
    socket.on('error', () => socket.destroy());
    this.closed = new Promise((resolve) => {
      socket.on('close', () => {
        this.#isClosed = true;
        this.#deliver();
        resolve();
      });
    });
  }

  /** The next frame, which the caller wipes; undefined if the other side has ended. */
  receive(): Promise<Buffer | undefined> {
    return new Promise((resolve) => {
      this.#waiting = resolve;
      this.#deliver();
    });
  }

  async receiveJson(): Promise<unknown> {
    const frame = await this.receive();
    if (frame === undefined) return undefined;
    const text = frame.toString('utf8');
    frame.fill(0);
    try {
      return JSON.parse(text);
    } catch {
      return null;
    }
  }

  send(content: Uint8Array): void {
    const frame = Buffer.alloc(HEAD_BYTES + content.length);
    frame.writeUInt16BE(content.length, 0);
    frame.set(content, HEAD_BYTES);
    this.#socket.write(frame, () => frame.fill(0));
  }

  sendJson(content: object): void {
    this.send(Buffer.from(JSON.stringify(content)));
  }

  /** Ends after everything is sent. */
  end(): void {
    this.#socket.end();
  }

  #deliver(): void {
    const resolve = this.#waiting;
    if (resolve === undefined) return;
    const buffer = this.#received;
    const end = buffer.length < HEAD_BYTES ? Number.POSITIVE_INFINITY : HEAD_BYTES + buffer.readUInt16BE(0);
    if (buffer.length >= end) {
      this.#waiting = undefined;
      const frame = Buffer.from(buffer.subarray(HEAD_BYTES, end));
      this.#received = Buffer.from(buffer.subarray(end));
      buffer.fill(0);
      resolve(frame);
    } else if (this.#isClosed) {
      this.#waiting = undefined;
      resolve(undefined);
    }
  }
}
