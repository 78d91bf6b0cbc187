import { connect as connectTcp, type Socket } from 'node:net';
import { connect as connectTls } from 'node:tls';
import { type HttpResponse, ResponseReader } from './response-reader.ts';

/** Host and port of the requests. */
export interface HttpTarget {
  readonly host: string;
  readonly port: number;
  readonly isTls: boolean;
}

/** How a request ended: with a response; sent, without a response; or never sent, because there was no connection. */
export type HttpEnd =
  | ({ readonly kind: 'responded' } & HttpResponse)
  | { readonly kind: 'lost'; readonly reason: string }
  | { readonly kind: 'unsent'; readonly reason: string };

/** Reason of connections that close without an error. */
const NO_REASON = 'closed';

/**
 * One HTTP/1.1 connection with one request at a time. Requests arrive complete and ready to be written. The connection
 * parses only what it needs to find the end of a response, because the generator must use as little of the machine as
 * possible.
 */
export class HttpConnection {
  readonly #socket: Socket;
  readonly #reader = new ResponseReader();
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
      this.#fail('bad response');
      return;
    }
    this.releasedAtMs = performance.now();
    if (!read.keepsAlive) this.#shut();
    this.#end({ kind: 'responded', ...read });
  }

  #fail(reason: string): void {
    if (this.#isClosed && this.#onEnd === undefined) return;
    this.#shut();
    this.#onUp?.(reason);
    const read = this.#reader.finish();
    if (read) this.#end({ kind: 'responded', ...read });
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

/**
 * Servers close idle connections after 5 s or more (Node's default); a request in transit at that time would seem lost.
 */
const DEFAULT_IDLE_MS = 4_000;
/** Servers allow less time before the first request. The gateway closes a connection after 10 s. */
const UNUSED_MS = 8_000;

export interface ConnectionPoolOptions {
  readonly target: HttpTarget;
  /** Opened before the test, and kept open. */
  readonly kept: number;
  /** The maximum: above it requests wait, which is a limit of the generator and not of the gateway. */
  readonly most: number;
  /** A new connection for each request, as from phones that connect once. */
  readonly isNewEach: boolean;
  /** How long a connection may be idle and still be used; for servers that are known to keep them longer. */
  readonly maxIdleMs?: number | undefined;
}

/**
 * Connections to the gateway. If all are busy, another one is opened, as another phone would do: arrivals do not wait
 * for the responses to others.
 */
export class ConnectionPool {
  readonly #options: ConnectionPoolOptions;
  readonly #idle: HttpConnection[] = [];
  #open = 0;

  constructor(options: ConnectionPoolOptions) {
    this.#options = options;
  }

  /** Current number of connections, busy ones included. */
  get size(): number {
    return this.#open;
  }

  /** Opens the connections that are kept; resolves with the reason if the gateway accepts none. */
  async fill(): Promise<string | undefined> {
    const { kept, isNewEach } = this.#options;
    const connections = Array.from({ length: isNewEach ? 1 : kept }, () => this.#dial());
    const reasons = await Promise.all(connections.map((connection) => connection.connected()));
    for (const connection of connections) this.putBack(connection);
    return reasons.find((reason) => reason !== undefined);
  }

  /** A free connection, or a new one; undefined if the maximum is reached. */
  take(): HttpConnection | undefined {
    const maxIdleMs = this.#options.maxIdleMs ?? DEFAULT_IDLE_MS;
    for (let connection = this.#idle.pop(); connection; connection = this.#idle.pop()) {
      const mostMs = connection.isUsed ? maxIdleMs : Math.min(maxIdleMs, UNUSED_MS);
      if (connection.isUsable && performance.now() - connection.releasedAtMs < mostMs) return connection;
      this.#drop(connection);
    }
    return this.#open < this.#options.most ? this.#dial() : undefined;
  }

  /** The caller returns the connection when its request has ended. */
  putBack(connection: HttpConnection): void {
    if (this.#options.isNewEach || !connection.isUsable) this.#drop(connection);
    else this.#idle.push(connection);
  }

  close(): void {
    for (const connection of this.#idle.splice(0)) this.#drop(connection);
  }

  #dial(): HttpConnection {
    this.#open++;
    const connection = new HttpConnection(this.#options.target);
    connection.releasedAtMs = performance.now();
    return connection;
  }

  #drop(connection: HttpConnection): void {
    this.#open--;
    connection.close();
  }
}
