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
