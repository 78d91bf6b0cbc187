import { isUtf8 } from 'node:buffer';
import { randomUUID } from 'node:crypto';
import type { Server as HttpServer, IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { FastifyBodyParser, FastifyInstance } from 'fastify';
import { formatTraceparent, takeTrace } from '../observe/request-log.ts';
import type { PendingResponses } from './drain-connections.ts';
import { HttpError, type ProblemResponse, problemBody, STATUS_TITLES } from './problem.ts';

/** The deepest body of the API, a terminal profile's overrides, has seven levels. */
const MAX_JSON_DEPTH = 16;

/** The detail of 415. */
export const NOT_JSON = 'The body must be application/json, encoded in UTF-8.';

/** Each `charset` parameter of a content type (RFC 9110 8.3.1), its value as a token or quoted. */
const CHARSET = /;\s*charset\s*=\s*([^;]*)/gi;
const UTF_8 = /^(?:utf-8|"utf-8")\s*$/i;

/**
 * Bodies must be JSON with limited depth, so that no recursive code here or in later stages exhausts the stack.
 * Refuses `__proto__` and `constructor.prototype` as fastify's own parser does.
 */
export function parseJsonBodies(server: FastifyInstance): void {
  const parse = server.getDefaultJsonParser('error', 'error') as FastifyBodyParser<string>;
  server.removeAllContentTypeParsers();
  server.addContentTypeParser<Buffer>('application/json', { parseAs: 'buffer' }, (request, bytes, done) => {
    if (isOtherCharset(request.headers['content-type'])) return done(new HttpError(415, 104, NOT_JSON));
    // JSON is UTF-8 (RFC 8259 8.1). Lenient decoding could turn two different references into the same one.
    if (!isUtf8(bytes)) return done(new HttpError(400, 103, 'The body must be encoded in UTF-8.'));
    const text = bytes.toString();
    if (isTooDeep(text))
      done(new HttpError(400, 104, `The body must not be nested deeper than ${MAX_JSON_DEPTH} levels.`));
    else parse(request, text, done);
  });
}

/** Whether a content type announces another encoding than UTF-8. Most have no parameters. */
function isOtherCharset(contentType = ''): boolean {
  if (!contentType.includes(';')) return false;
  return [...contentType.matchAll(CHARSET)].some(([, charset = '']) => !UTF_8.test(charset));
}

/** Also runs on text that is not JSON; the parser reports that. */
function isTooDeep(text: string): boolean {
  // Most bodies have few brackets, and counting them costs less than a walk.
  if (countOf(text, '{') + countOf(text, '[') <= MAX_JSON_DEPTH) return false;
  let depth = 0;
  let isText = false;
  for (let at = 0; at < text.length; at++) {
    const char = text[at];
    if (isText) {
      if (char === '\\') at++;
      else if (char === '"') isText = false;
    } else if (char === '"') isText = true;
    else if (char === '{' || char === '[') {
      if (++depth > MAX_JSON_DEPTH) return true;
    } else if (char === '}' || char === ']') depth--;
  }
  return false;
}

/** Counts occurrences, up to the limit that matters. */
function countOf(text: string, char: string): number {
  let count = 0;
  for (let at = text.indexOf(char); at !== -1 && count <= MAX_JSON_DEPTH; at = text.indexOf(char, at + 1)) count++;
  return count;
}

/**
 * Responds to input that Node refuses before there is a request. The response is a problem like any other. The
 * connection is closed, because the start of the next message is not known (RFC 9112 2.2, 6.3).
 */

/**
 * An error of the parser, with the last bytes read and the position that the parser reached, or an error of a
 * timeout.
 */
type ClientError = Error & { readonly code?: string; readonly rawPacket?: unknown; readonly bytesParsed?: number };

const MALFORMED: ProblemResponse = { status: 400, errorCode: 104, detail: 'The request is not valid HTTP.' };
/** Keyed by Node's error code. Any other code means a malformed request. */
const REFUSALS: Readonly<Record<string, ProblemResponse>> = {
  ERR_HTTP_REQUEST_TIMEOUT: { status: 408, errorCode: 104, detail: 'The request did not arrive in time.' },
  HPE_HEADER_OVERFLOW: { status: 431, errorCode: 104, detail: 'The headers and the address exceed 16 KB.' },
};
const UNKNOWN_METHOD: ProblemResponse = { status: 501, errorCode: 104, detail: 'The method is not supported.' };
const NO_TUNNELS: ProblemResponse = {
  status: 405,
  errorCode: 104,
  detail: 'This server is not a proxy.',
  headers: { allow: '' },
};
const UNKNOWN_EXPECTATION: ProblemResponse = {
  status: 417,
  errorCode: 104,
  detail: 'The only supported expectation is 100-continue.',
};

/**
 * Time for a client that still sends to read the refusal before the connection is reset (RFC 9112 9.6). Most close at
 * once.
 */
const LINGER_MS = 2_000;

/** A request line with a token as method (RFC 9112 3), as opposed to bytes of another protocol. */
const REQUEST_LINE = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+ \S+ HTTP\/1\.[01]\r?\n/;

/**
 * The handler for fastify's `clientErrorHandler`. It lets pending responses on the connection finish first, in order.
 */
export class UnreadableRequests {
  readonly #refused = new WeakSet<Socket>();

  #pending: PendingResponses | undefined;

  /** Watches the connections of a server. Responds to CONNECT and unknown expectations, for which Node sends no body. */
  watch(server: HttpServer, pending: PendingResponses): void {
    this.#pending = pending;
    server.on('connect', (_request: IncomingMessage, socket: Socket) => this.#refuseTunnel(socket, pending));
    server.on('checkExpectation', (_request: IncomingMessage, response: ServerResponse) => {
      const { headers, body } = rendered(UNKNOWN_EXPECTATION);
      response.writeHead(UNKNOWN_EXPECTATION.status, headers).end(body);
    });
  }

  readonly onClientError = (error: ClientError, socket: Socket): void => {
    if (error.code === 'ECONNRESET' || !socket.writable || isUnused(error, socket)) {
      socket.destroy();
      return;
    }
    if (this.#refused.has(socket)) return;
    this.#refused.add(socket);
    const { responses, cutShort } = this.#pending!.of(socket);
    const latest = responses.at(-1);
    // A request that received a response before it arrived completely, as with 413, gets no second response.
    const hasResponded = latest ? !latest.req.complete && latest.headersSent : cutShort?.complete === false;
    const close = () => (hasResponded ? socket.destroySoon() : this.#close(socket, refusalOf(error)));
    // A request that never arrives completely gets only this refusal. The requests before it get their responses.
    const awaited = responses.findLast((response) => response.req.complete || hasResponded);
    if (awaited === undefined) close();
    else awaited.once('close', close);
  };

  /** Node has left the connection: it no longer listens to its events, of which the pending responses need some. */
  #refuseTunnel(socket: Socket, pending: PendingResponses): void {
    const { responses } = pending.of(socket);
    socket.on('error', () => socket.destroy());
    socket.on('end', () => socket.end());
    socket.on('drain', () => responses[0]?.emit('drain'));
    socket.once('close', () => {
      for (const response of [...responses]) response.req.destroy();
    });
    socket.resume(); // what follows is not read, but the end is
    const close = () => this.#close(socket, NO_TUNNELS);
    const last = responses.at(-1);
    if (last) last.once('close', close);
    else close();
  }

  #close(socket: Socket, refusal: ProblemResponse): void {
    if (!socket.writable) {
      socket.destroy();
      return;
    }
    const { headers, body } = rendered(refusal);
    const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
    const head = `HTTP/1.1 ${refusal.status} ${STATUS_TITLES[refusal.status]}\r\n${lines.join('')}\r\n`;
    socket.end(head + body);
    const timer = setTimeout(() => socket.destroy(), LINGER_MS).unref();
    socket.once('close', () => clearTimeout(timer));
  }
}

/**
 * A load balancer opens connections before it needs them. It would take a 408 on one of them for the response to the
 * request that it sends at this moment; a closed connection says that it may be sent again on another one (RFC 9112 9.5).
 */
function isUnused({ code }: ClientError, { bytesRead }: Socket): boolean {
  return code === 'ERR_HTTP_REQUEST_TIMEOUT' && bytesRead === 0;
}

function refusalOf({ code = '', rawPacket, bytesParsed = 0 }: ClientError): ProblemResponse {
  if (code !== 'HPE_INVALID_METHOD' || !Buffer.isBuffer(rawPacket)) return REFUSALS[code] ?? MALFORMED;
  const lineAt = rawPacket.lastIndexOf('\n', bytesParsed) + 1;
  return REQUEST_LINE.test(rawPacket.toString('latin1', lineAt)) ? UNKNOWN_METHOD : MALFORMED;
}

/** Includes the headers of every response. Nothing is known about the request, not even its URL. */
function rendered(refusal: ProblemResponse): { headers: Record<string, string>; body: string } {
  const requestId = randomUUID();
  const body = JSON.stringify(problemBody(refusal, '', requestId));
  const headers = {
    'x-correlation-id': requestId,
    traceparent: formatTraceparent(takeTrace(undefined)),
    'api-version': '4.0',
    'x-content-type-options': 'nosniff',
    'cache-control': 'no-store',
    ...refusal.headers,
    'content-type': 'application/problem+json',
    'content-length': String(Buffer.byteLength(body)),
    date: new Date().toUTCString(),
    connection: 'close',
  };
  return { headers, body };
}
