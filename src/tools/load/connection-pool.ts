import { connect as connectTcp, type Socket } from 'node:net';
import { connect as connectTls } from 'node:tls';

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

/**
 * Connections to the gateway. If all are busy, another one is opened, as another phone would do: arrivals do not wait
 * for the responses to others.
 */
export class ConnectionPool {
  readonly #options;
  readonly #idle: HttpConnection[] = [];
  #open = 0;

  constructor(options: {
    readonly target: HttpTarget;
    /** Opened before the test, and kept open. */
    readonly kept: number;
    /** The maximum: above it requests wait, which is a limit of the generator and not of the gateway. */
    readonly most: number;
    /** A new connection for each request, as from phones that connect once. */
    readonly isNewEach: boolean;
    /** How long a connection may be idle and still be used; for servers that are known to keep them longer. */
    readonly maxIdleMs?: number | undefined;
  }) {
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

/** The parts of an HTTP/1.1 response that a load test reads. */
export interface HttpResponse {
  readonly status: number;
  readonly body: Buffer;
  /** Whether it says when to repeat a refused request (RFC 9110 10.2.3). */
  readonly hasRetryAfter?: boolean;
  /** Whether the server accepts another request on the connection. */
  readonly keepsAlive: boolean;
}

/** Ten times a page of a hundred transactions; a gateway sends no larger response. */
const MAX_RESPONSE_BYTES = 4 * 1024 * 1024;
const NOTHING = Buffer.alloc(0);
const HEAD_END = '\r\n\r\n';
const LINE_END = '\r\n';

/** How the end of a body is determined (RFC 9112 6.3). */
type Framing =
  | { readonly kind: 'length'; readonly endOffset: number }
  | { readonly kind: 'chunked' }
  | { readonly kind: 'close' };

interface Head {
  readonly status: number;
  readonly bodyOffset: number;
  readonly framing: Framing;
  readonly hasRetryAfter: boolean;
  readonly keepsAlive: boolean;
}

/** Assembles the responses on one connection from the received chunks. */
export class ResponseReader {
  #received: Buffer = NOTHING;
  #head: Head | undefined;

  /** @returns the complete response, undefined if more must arrive, `bad` if it is not HTTP or too large */
  read(chunk: Buffer): HttpResponse | 'bad' | undefined {
    this.#received = this.#received.length === 0 ? chunk : Buffer.concat([this.#received, chunk]);
    if (this.#received.length > MAX_RESPONSE_BYTES) return 'bad';
    while (this.#head === undefined) {
      const head = readHead(this.#received);
      if (head === undefined || head === 'bad') return head;
      // 1xx responses are interim (RFC 9110 15.2).
      if (head.status < 200) this.#received = this.#received.subarray(head.bodyOffset);
      else this.#head = head;
    }
    const body = readBody(this.#received, this.#head);
    return body === undefined || body === 'bad' ? body : this.#response(this.#head, body);
  }

  /** The connection has ended. This completes a response that ends with its connection. */
  finish(): HttpResponse | undefined {
    const head = this.#head;
    if (head?.framing.kind !== 'close') return undefined;
    return this.#response(head, this.#received.subarray(head.bodyOffset));
  }

  #response({ status, hasRetryAfter, keepsAlive }: Head, body: Buffer): HttpResponse {
    this.#received = NOTHING;
    this.#head = undefined;
    return { status, body, hasRetryAfter, keepsAlive };
  }
}

function readHead(received: Buffer): Head | 'bad' | undefined {
  const headEnd = received.indexOf(HEAD_END);
  if (headEnd < 0) return undefined;
  const text = received.toString('latin1', 0, headEnd);
  const status = /^HTTP\/1\.[01] (\d{3})/.exec(text)?.[1];
  if (status === undefined) return 'bad';
  const bodyOffset = headEnd + HEAD_END.length;
  const framing = framingOf(text, Number(status), bodyOffset);
  const keepsAlive = framing.kind !== 'close' && !/\r\nconnection: *close/i.test(text);
  const hasRetryAfter = Number(status) >= 300 && /\r\nretry-after: *\d/i.test(text);
  return { status: Number(status), bodyOffset, framing, hasRetryAfter, keepsAlive };
}

function framingOf(head: string, status: number, bodyOffset: number): Framing {
  if (status < 200 || status === 204 || status === 304) return { kind: 'length', endOffset: bodyOffset };
  if (/\r\ntransfer-encoding: *chunked/i.test(head)) return { kind: 'chunked' };
  const length = /\r\ncontent-length: *(\d{1,15})/i.exec(head)?.[1];
  return length === undefined ? { kind: 'close' } : { kind: 'length', endOffset: bodyOffset + Number(length) };
}

function readBody(received: Buffer, { bodyOffset, framing }: Head): Buffer | 'bad' | undefined {
  if (framing.kind === 'close') return undefined;
  if (framing.kind === 'chunked') return readChunks(received, bodyOffset);
  if (framing.endOffset > MAX_RESPONSE_BYTES) return 'bad';
  return received.length >= framing.endOffset ? received.subarray(bodyOffset, framing.endOffset) : undefined;
}

/** RFC 9112 7.1: a length in hex and that number of bytes, repeated until a length of 0. Trailers are skipped. */
function readChunks(received: Buffer, bodyOffset: number): Buffer | 'bad' | undefined {
  const parts: Buffer[] = [];
  for (let at = bodyOffset; ; ) {
    const lineEnd = received.indexOf(LINE_END, at);
    if (lineEnd < 0) return undefined;
    const digits = /^[0-9a-f]{1,8}/i.exec(received.toString('latin1', at, lineEnd))?.[0];
    if (digits === undefined) return 'bad';
    const length = Number.parseInt(digits, 16);
    const dataAt = lineEnd + LINE_END.length;
    if (length === 0) return isAfterTrailers(received, dataAt) ? Buffer.concat(parts) : undefined;
    if (received.length < dataAt + length + LINE_END.length) return undefined;
    parts.push(received.subarray(dataAt, dataAt + length));
    at = dataAt + length + LINE_END.length;
  }
}

function isAfterTrailers(received: Buffer, at: number): boolean {
  return received.indexOf(LINE_END, at) === at || received.indexOf(HEAD_END, at) >= 0;
}
