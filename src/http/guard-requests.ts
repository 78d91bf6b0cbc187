import type { FastifyInstance, FastifyRequest } from 'fastify';
import { HttpError } from './http-error.ts';
import type { RouteTable } from './route-table.ts';

export interface GuardOptions {
  /** qa and prod: refuse what the client did not send by HTTPS. */
  readonly requiresHttps: boolean;
}

/** Asked by machines of the same network, which find a process by its own address; nothing of a tenant is in the responses. */
export const PROBES: ReadonlySet<string | undefined> = new Set<string | undefined>([
  '/livez',
  '/readyz',
  '/healthz',
  '/metrics',
]);

/**
 * Headers with one value at most, each with a bit of its own. Node takes the first of some and joins others; a proxy may have decided by another one
 * (RFC 9110 5.3, RFC 9112 3.2).
 */
const SINGLE: ReadonlyMap<string, number> = new Map(
  [
    'authorization',
    'content-encoding',
    'content-type',
    'host',
    'idempotency-key',
    'transfer-encoding',
    'x-api-key',
    'x-device-installation-id',
  ].map((name, index) => [name, 1 << index]),
);

/** Refuses requests that are readable and yet not fit to be served, before anything else looks at them. */
export function guardRequests(server: FastifyInstance, routes: RouteTable, { requiresHttps }: GuardOptions): void {
  server.addHook('onRequest', (request, reply, done) => {
    if (requiresHttps && request.protocol === 'https') reply.header('strict-transport-security', HSTS);
    done(requiresHttps ? (faultOfTransport(request) ?? faultOf(request, routes)) : faultOf(request, routes));
  });
  // Behind the limits of rates, and before the body: with some methods fastify would first find fault with that.
  server.addHook('preParsing', (request, _reply, _payload, done) => {
    done(request.is404 ? faultOfUnknownRoute(request, routes) : encodedBody(request));
  });
}

/** A year, as RFC 6797 11.2 and browsers' lists advise. Subdomains are for their owner to decide. */
const HSTS = 'max-age=31536000';

function faultOf(request: FastifyRequest, routes: RouteTable): HttpError | undefined {
  return faultOfMessage(request) ?? repeatedHeader(request) ?? hiddenByParameter(request, routes);
}

/** `request.protocol` believes X-Forwarded-Proto of trusted proxies alone; anybody else must have come by TLS itself. */
function faultOfTransport(request: FastifyRequest): HttpError | undefined {
  if (request.protocol === 'https' || PROBES.has(request.routeOptions.url)) return undefined;
  return new HttpError(403, 101, 'HTTPS is required. Replace every key or token that was sent over plain HTTP.');
}

/** What Node's parser lets pass, and RFC 9112 does not. */
function faultOfMessage({ raw, headers }: FastifyRequest): HttpError | undefined {
  const { httpVersion, url = '' } = raw;
  const coding = headers['transfer-encoding'];
  if (httpVersion !== '1.1' && httpVersion !== '1.0') {
    return new HttpError(505, 104, 'Only HTTP/1.1 and HTTP/1.0 are supported.', { headers: CLOSE });
  }
  if (httpVersion === '1.1' && headers.host === undefined) {
    return new HttpError(400, 104, 'The Host header is missing.', { headers: CLOSE });
  }
  if (url.includes('#')) return new HttpError(400, 104, 'The request target must not have a fragment.');
  if (coding === undefined) return undefined;
  // RFC 9112 6.1: a sender of HTTP/1.0 does not know chunks, so something on the way has misread the message.
  if (httpVersion === '1.0') {
    return new HttpError(400, 104, 'Transfer-Encoding requires HTTP/1.1.', { headers: CLOSE });
  }
  if (coding.toLowerCase() === 'chunked') return undefined;
  return new HttpError(501, 104, 'The only supported transfer coding is chunked.', { headers: CLOSE });
}

/** Where the message ends is in doubt, so nothing after it is read (RFC 9112 6.3). */
const CLOSE = { connection: 'close' } as const;

function repeatedHeader({ raw: { rawHeaders } }: FastifyRequest): HttpError | undefined {
  let seen = 0;
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const name = rawHeaders[at]!.toLowerCase();
    const bit = SINGLE.get(name) ?? 0;
    if ((seen & bit) !== 0) {
      const errors = [{ pointer: `/headers/${name}`, detail: 'must not be repeated' }];
      return new HttpError(400, 104, `The ${name} header must not be repeated.`, { errors });
    }
    seen |= bit;
  }
  return undefined;
}

/**
 * `GET /transactions/mobile` is not a transaction of the id `mobile`: an address that is registered word for word takes its
 * own methods alone. And an empty word is no parameter.
 */
function hiddenByParameter(request: FastifyRequest, routes: RouteTable): HttpError | undefined {
  if (!request.routeOptions.url?.includes(':')) return undefined;
  const path = pathOf(request.url);
  if (routes.hasLiteral(path)) return methodNotAllowed(routes.methodsOf(path));
  return path.endsWith('/') || path.includes('//') ? unknownAddress() : undefined;
}

/** A wrong method on a known path is 405 with what is allowed; anything else is 404. */
function faultOfUnknownRoute(request: FastifyRequest, routes: RouteTable): HttpError {
  const allowed = routes.methodsOf(pathOf(request.url));
  return allowed.length === 0 ? unknownAddress() : methodNotAllowed(allowed);
}

function unknownAddress(): HttpError {
  return new HttpError(404, 122, 'Resource not found.');
}

function methodNotAllowed(methods: readonly string[]): HttpError {
  const allow = methods.join(', ');
  return new HttpError(405, 104, `Method not allowed. Allowed methods: ${allow}.`, { headers: { allow } });
}

/** As the router compares it: decoded, but for the characters that have a meaning in an address. */
function pathOf(url: string): string {
  const path = url.split('?', 1)[0]!;
  try {
    return path.includes('%') ? decodeURI(path) : path;
  } catch {
    return path;
  }
}

/** Bodies are small; a compressed one could be a thousand times as large as it looks (RFC 9110 15.5.16). */
function encodedBody({ headers }: FastifyRequest): HttpError | undefined {
  const coding = headers['content-encoding'];
  if (coding === undefined || coding.toLowerCase() === 'identity') return undefined;
  const accepted = { 'accept-encoding': 'identity' };
  return new HttpError(415, 104, 'The body must not be compressed.', { headers: accepted });
}
