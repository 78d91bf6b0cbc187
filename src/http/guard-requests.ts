import type { IncomingHttpHeaders } from 'node:http';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { HttpError } from './problem.ts';
import type { RouteTable } from './route-table.ts';

/**
 * Routes for machines of the same network, which call a process at its own address. Their responses contain no tenant
 * data.
 */
export const PROBES: ReadonlySet<string | undefined> = new Set<string | undefined>([
  '/livez',
  '/readyz',
  '/healthz',
  '/metrics',
]);

/**
 * Headers that may have only one value, each with its own bit. Node takes the first of some and joins others, and a
 * proxy may have used another one (RFC 9110 5.3, RFC 9112 3.2).
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

/** Refuses requests that can be parsed and still must not be served, before any other check. */
export function guardRequests(
  server: FastifyInstance,
  routes: RouteTable,
  {
    requiresHttps,
  }: {
    /** qa and prod: refuse requests that the client did not send by HTTPS. */
    readonly requiresHttps: boolean;
  },
): void {
  server.addHook('onRequest', (request, reply, done) => {
    if (requiresHttps && request.protocol === 'https') reply.header('strict-transport-security', HSTS);
    done(requiresHttps ? (faultOfTransport(request) ?? faultOf(request, routes)) : faultOf(request, routes));
  });
  // Runs after the rate limits and before the body is read. With some methods, fastify would report a fault of the
  // body first.
  server.addHook('preParsing', (request, _reply, _payload, done) => {
    done(request.is404 ? faultOfUnknownRoute(request, routes) : encodedBody(request));
  });
}

/**
 * A year, as RFC 6797 11.2 and the preload lists of browsers advise. The owner of a domain decides about its
 * subdomains.
 */
export const HSTS = 'max-age=31536000';

function faultOf(request: FastifyRequest, routes: RouteTable): HttpError | undefined {
  return faultOfMessage(request) ?? repeatedHeader(request) ?? hiddenByParameter(request, routes);
}

/** `request.protocol` uses X-Forwarded-Proto only from trusted proxies. Any other client must connect by TLS. */
function faultOfTransport(request: FastifyRequest): HttpError | undefined {
  if (request.protocol === 'https' || PROBES.has(request.routeOptions.url)) return undefined;
  return new HttpError(403, 101, 'HTTPS is required. Replace every key or token that was sent over plain HTTP.');
}

/** Faults that Node's parser accepts and RFC 9112 does not. */
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
  // RFC 9112 6.1: a sender of HTTP/1.0 does not know chunked coding, so an intermediary has misread the message.
  if (httpVersion === '1.0') {
    return new HttpError(400, 104, 'Transfer-Encoding requires HTTP/1.1.', { headers: CLOSE });
  }
  if (coding.toLowerCase() === 'chunked') return undefined;
  return new HttpError(501, 104, 'The only supported transfer coding is chunked.', { headers: CLOSE });
}

/** The end of the message is uncertain, so nothing after it is read (RFC 9112 6.3). */
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
 * `GET /transactions/mobile` is not a transaction with the id `mobile`: a path that is registered literally takes
 * only its own methods. An empty segment is not a valid parameter.
 */
function hiddenByParameter(request: FastifyRequest, routes: RouteTable): HttpError | undefined {
  if (!request.routeOptions.url?.includes(':')) return undefined;
  const path = pathOf(request.url);
  if (routes.hasLiteral(path)) return methodNotAllowed(routes.methodsOf(path));
  return path.endsWith('/') || path.includes('//') ? unknownAddress() : undefined;
}

/** A wrong method on a known path is 405 with the allowed methods; anything else is 404. */
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

/** The path as the router compares it: decoded, except for reserved characters. */
function pathOf(url: string): string {
  const path = url.split('?', 1)[0]!;
  try {
    return path.includes('%') ? decodeURI(path) : path;
  } catch {
    return path;
  }
}

/** Bodies are small. A compressed one could expand a thousandfold (RFC 9110 15.5.16). */
function encodedBody({ headers }: FastifyRequest): HttpError | undefined {
  const coding = headers['content-encoding'];
  if (coding === undefined || coding.toLowerCase() === 'identity') return undefined;
  const accepted = { 'accept-encoding': 'identity' };
  return new HttpError(415, 104, 'The body must not be compressed.', { headers: accepted });
}

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[1-8][0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/i;

/** The caller's correlation id, if it is a UUID. */
export function correlationIdOf(headers: IncomingHttpHeaders): string | undefined {
  const given = headers['x-correlation-id'];
  return typeof given === 'string' && UUID.test(given) ? given : undefined;
}
