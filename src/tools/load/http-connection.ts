import { connect as connectTcp, type Socket } from 'node:net';
import { connect as connectTls } from 'node:tls';
import { AnswerReader, type HttpAnswer } from './answer-reader.ts';

/** Host and port of the requests. */
export interface HttpTarget {
  readonly host: string;
  readonly port: number;
  readonly isTls: boolean;
}

/** How a request ended: answered; sent and never answered; or never sent, because there was no connection. */
export type HttpEnd =
  | ({ readonly kind: 'answered' } & HttpAnswer)
  | { readonly kind: 'lost'; readonly reason: string }
  | { readonly kind: 'unsent'; readonly reason: string };

/** For connections that close without an error. */
const NO_REASON = 'closed';

/**
 * One HTTP/1.1 connection with one request at a time. Requests arrive complete and ready to be written. The connection
 * parses only what it needs to find the end of a response, because the generator must use as little of the machine as
 * possible.
 */
export class HttpConnection {
  readonly #socket: Socket;
  readonly #reader = new AnswerReader();
  #isUp = false;
  #isClosed = false;
  #onUp: ((reason: string | undefined) => void) | undefined;
  #onEnd: ((end: HttpEnd) => void) | undefined;
  /** Monotonic time at which the last response was complete. */
  releasedAtMs = 0;
  /** Whether a request has been sent on it. */
  isUsed = false;

  constructor({ host, port, isTls }: HttpTarget) {
    const socket = isTls
      ? connectTls({ host, port, servername: host, ALPNProtocols: ['http/1.1'] })
      : connectTcp({ host, port });
    this.#socket = socket;
    socket.setNoDelay(true);
    socket.once(isTls ? 'secureConnect' : 'connect', () => {
      this.#isUp = true;
      this.#onUp?.(undefined);
    });
    socket.on('data', (chunk: Buffer) => this.#onData(chunk));
    socket.on('error', (error: NodeJS.ErrnoException) => this.#fail(error.code ?? error.message));
    socket.on('end', () => this.#fail(NO_REASON));
    socket.on('close', () => this.#fail(NO_REASON));
  }

  /** Resolves when the connection is open, or with the reason if it cannot be opened. */
  connected(): Promise<string | undefined> {
    return new Promise((resolve) => {
      if (this.#isUp) resolve(undefined);
      else if (this.#isClosed) resolve(NO_REASON);
      else this.#onUp = resolve;
    });
  }

  /** Whether another request may be sent on it. */
  get isUsable(): boolean {
    return !this.#isClosed;
  }

  /** Sends a request; `onEnd` is called once. While the connection is being opened, the request waits. */
  send(request: Buffer, onEnd: (end: HttpEnd) => void): void {
    this.#onEnd = onEnd;
    this.isUsed = true;
    if (this.#isClosed) this.#end({ kind: 'unsent', reason: NO_REASON });
    else this.#socket.write(request);
  }

  /** @param reason why a request in progress failed */
  close(reason = NO_REASON): void {
    this.#fail(reason);
  }

  #onData(chunk: Buffer): void {
    // Without a request in progress, a server may only say why it closes (RFC 9112 9.5).
    if (this.#onEnd === undefined) {
      this.#shut();
      return;
    }
    const read = this.#reader.read(chunk);
    if (read === undefined) return;
    if (read === 'bad') {
      this.#fail('bad answer');
      return;
    }
    this.releasedAtMs = performance.now();
    if (!read.keepsAlive) this.#shut();
    this.#end({ kind: 'answered', ...read });
  }

  #fail(reason: string): void {
    if (this.#isClosed && this.#onEnd === undefined) return;
    this.#shut();
    this.#onUp?.(reason);
    const read = this.#reader.finish();
    if (read) this.#end({ kind: 'answered', ...read });
    else this.#end({ kind: this.#isUp ? 'lost' : 'unsent', reason });
  }

  #shut(): void {
    this.#isClosed = true;
    this.#socket.destroy();
  }

  #end(end: HttpEnd): void {
    const onEnd = this.#onEnd;
    this.#onEnd = undefined;
    onEnd?.(end);
  }
}
