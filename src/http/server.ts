import { randomUUID } from 'node:crypto';
import Fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify';
import { validatorCompiler } from 'fastify-type-provider-zod';
import { z } from 'zod';
import { Overloaded } from '../basics/errors.ts';
import { formatTraceparent, type RequestLog, type Trace, takeTrace } from '../observe/request-log.ts';
import { drainConnections, PendingResponses } from './drain-connections.ts';
import { correlationIdOf, guardRequests } from './guard-requests.ts';
import { readTlsFiles, type TlsFiles } from './listen.ts';
import {
  invalidValuesProblem,
  type ProblemResponse,
  problemBody,
  problemOf,
  type ValidationFailure,
} from './problem.ts';
import { NOT_JSON, parseJsonBodies, UnreadableRequests } from './refuse-unreadable.ts';
import { keepResponseDeadlines, type ResponseTimes } from './response-deadlines.ts';
import { serializerCompiler } from './response-schema.ts';
import { challengeOf, RouteTable } from './route-table.ts';

export { responseSchema } from './response-schema.ts';

/** Limit of a body: both blobs at their maximum size, and the reference. */
const MAX_BODY_BYTES = 192 * 1024;
/** A phone on a slow connection sends its few kilobytes well within this time; a slow-loris attack does not. */
const REQUEST_TIMEOUT_MS = 20_000;
const HEADERS_TIMEOUT_MS = 10_000;
/** Node's default is 120 s. The timeouts of a request begin after the handshake. */
const HANDSHAKE_TIMEOUT_MS = 10_000;
/**
 * Delay between the timeout of a connection and its end; Node's default is a check every 30 s. Node would respond to a
 * request without `Host` with an empty body; `guard-requests.ts` responds to it with a problem.
 */
const HTTP_OPTIONS = { connectionsCheckingInterval: 1_000, requireHostHeader: false };
/** Longer than the idle time of common load balancers (60 s), so that they close first. */
const KEEP_ALIVE_MS = 72_000;
/** The longest deadline that a profile may have, with the slack to respond and the grace. */
const LONGEST_TIMES: ResponseTimes = { switchWaitMs: () => 127_000 };
const MAX_PARAM_CHARS = 255;
/** Start of a request target in absolute form (RFC 9112 3.2.2). Its host makes no difference here. */
const ORIGIN = /^https?:\/\/[^/?]*(?=[/?]|$)/i;
/** Schema of routes without query parameters. */
const NO_QUERY = z.strictObject({});

export type Server = FastifyInstance;

export interface ServerOptions {
  readonly log: RequestLog;
  readonly trustedProxies?: readonly string[] | undefined;
  /** Maximum time of a response; by default as long as the slowest switch may take. */
  readonly responseTimes?: ResponseTimes | undefined;
  /** HTTPS if given. */
  readonly tls?: TlsFiles | undefined;
  /** qa and prod: refuse requests that clients did not send by HTTPS, and add HSTS to all other responses. */
  readonly requiresHttps?: boolean;
}

declare module 'fastify' {
  interface FastifyRequest {
    /** From the caller or generated; used in the response, log lines and jobs. */
    correlationId: string;
    /** The caller's trace or a new one; used in the response and in log lines. */
    trace: Trace;
  }
}

/** The HTTP server with everything that all routes share. The composition root registers the routes. */
export function createServer(options: ServerOptions): Server {
  const { log, responseTimes = LONGEST_TIMES, requiresHttps = false } = options;
  const unreadable = new UnreadableRequests();
  const server = newFastify(options, unreadable);
  const pending = new PendingResponses(server.server);
  unreadable.watch(server.server, pending);
  parseJsonBodies(server);
  server.server.headersTimeout = HEADERS_TIMEOUT_MS;
  server.setValidatorCompiler(validatorCompiler);
  server.setSerializerCompiler(serializerCompiler);
  const routes = listRoutes(server);
  identifyRequests(server);
  keepResponseDeadlines(server, responseTimes);
  drainConnections(server, pending);
  guardRequests(server, routes, { requiresHttps });
  server.addHook('onResponse', (request, reply, done) => {
    log.responded(request, reply);
    done();
  });
  server.setErrorHandler((error, request, reply) => {
    if (error instanceof Overloaded) log.overloaded(request, error.resource);
    const response =
      problemOf(error) ?? frameworkProblem(error as FrameworkError, request) ?? unforeseen(error, request, log);
    return sendProblem(response, request, reply, log);
  });
  return server;
}

function newFastify({ log, trustedProxies, tls }: ServerOptions, unreadable: UnreadableRequests): Server {
  return Fastify({
    http: HTTP_OPTIONS,
    ...(tls && { https: { ...readTlsFiles(tls), ...HTTP_OPTIONS, handshakeTimeout: HANDSHAKE_TIMEOUT_MS } }),
    bodyLimit: MAX_BODY_BYTES,
    requestTimeout: REQUEST_TIMEOUT_MS,
    keepAliveTimeout: KEEP_ALIVE_MS,
    routerOptions: { maxParamLength: MAX_PARAM_CHARS },
    forceCloseConnections: 'idle',
    return503OnClosing: false, // its response has no problem body; see drain-connections.ts
    clientErrorHandler: unreadable.onClientError,
    rewriteUrl: ({ url = '/' }) => url.replace(ORIGIN, '') || '/',
    trustProxy: trustedProxies ? [...trustedProxies] : false,
    genReqId: () => randomUUID(),
    logger: false,
    onProtoPoisoning: 'error',
    onConstructorPoisoning: 'error',
    // A URL that cannot be decoded arrives here and skips every hook.
    frameworkErrors: (error, request, reply) => {
      identify(request, reply);
      sendProblem(frameworkProblem(error, request) ?? unforeseen(error, request, log), request, reply, log);
    },
  });
}

function listRoutes(server: Server): RouteTable {
  const routes = new RouteTable();
  server.decorate('routeTable', routes);
  server.addHook('onRoute', (route) => {
    // A misspelt parameter must not widen a list, and the caller must not assume that it had an effect.
    if (!route.schema?.querystring) route.schema = { ...route.schema, querystring: NO_QUERY };
    routes.add(route);
  });
  return routes;
}

function identifyRequests(server: Server): void {
  server.decorateRequest('correlationId', '');
  server.decorateRequest('trace');
  server.addHook('onRequest', (request, reply, done) => {
    identify(request, reply);
    announceEnd(request, reply);
    done();
  });
}

/**
 * The caller's correlation id if it is a UUID, otherwise a new one, and the trace. Every response has them, also
 * after an error.
 */
function identify(request: FastifyRequest, reply: FastifyReply): void {
  request.correlationId = correlationIdOf(request.headers) ?? request.id;
  request.trace = takeTrace(request.headers.traceparent);
  reply
    .header('x-correlation-id', request.correlationId)
    .header('traceparent', formatTraceparent(request.trace))
    .header('api-version', '4.0')
    .header('x-content-type-options', 'nosniff')
    // The default, because responses contain tenant data, tokens or secrets. Routes whose responses may be cached set
    // their own.
    .header('cache-control', 'no-store');
}

/** A deprecated route names its successor in each response (RFC 9745, RFC 5829). */
function announceEnd({ routeOptions: { config } }: FastifyRequest, reply: FastifyReply): void {
  const deprecated = config.facts?.deprecated;
  if (deprecated === undefined) return;
  reply.header('deprecation', `@${Date.parse(deprecated.since) / 1_000}`);
  reply.header('link', `<${deprecated.successor}>; rel="successor-version"`);
}

/** At least 12 digits in any context (ISO/IEC 7812-1). No id of the gateway has as many. */
const CARD_NUMBER = /(?<![0-9a-f-])\d{12,}/gi;

/**
 * If a caller puts a card number into a URL by mistake, the response does not repeat it, because clients log
 * responses.
 */
function withoutCardNumbers(path: string): string {
  return path.replace(CARD_NUMBER, '*');
}

function sendProblem(
  response: ProblemResponse,
  request: FastifyRequest,
  reply: FastifyReply,
  log: RequestLog,
): FastifyReply {
  log.refused(request, response);
  const path = withoutCardNumbers(request.url.split('?', 1)[0]!);
  reply.header('cache-control', 'no-store'); // also if the response itself could have been cached
  if (response.headers) reply.headers({ ...response.headers });
  if (response.status === 401) {
    reply.header('www-authenticate', challengeOf(request.routeOptions.config.facts?.takes, response.errorCode));
  }
  return reply
    .code(response.status)
    .type('application/problem+json')
    .serializer(JSON.stringify)
    .send(problemBody(response, path, request.correlationId));
}

interface FrameworkError extends Error {
  readonly code?: string;
  readonly validation?: unknown;
}

/** Errors that fastify itself raises. */
function frameworkProblem(error: FrameworkError, request: FastifyRequest): ProblemResponse | undefined {
  if (error.validation) return invalidValuesProblem(error as unknown as ValidationFailure);
  switch (error.code) {
    case 'FST_ERR_CTP_INVALID_MEDIA_TYPE':
      return { status: 415, errorCode: 104, detail: NOT_JSON };
    case 'FST_ERR_CTP_BODY_TOO_LARGE':
      return {
        status: 413,
        errorCode: 104,
        detail: `The body must not exceed ${request.routeOptions.bodyLimit} bytes.`,
      };
    case 'FST_ERR_CTP_EMPTY_JSON_BODY':
    case 'FST_ERR_CTP_INVALID_JSON_BODY':
    case 'FST_ERR_CTP_INVALID_CONTENT_LENGTH':
      return { status: 400, errorCode: 103, detail: 'The body is not valid JSON.' };
    default:
      break;
  }
  const status = (error as { statusCode?: number }).statusCode;
  if (error instanceof SyntaxError) return { status: 400, errorCode: 103, detail: 'The body is not valid JSON.' };
  return status !== undefined && status >= 400 && status < 500
    ? { status, errorCode: 104, detail: 'The request cannot be read.' }
    : undefined;
}

function unforeseen(error: unknown, request: FastifyRequest, log: RequestLog): ProblemResponse {
  log.unforeseen(error, request);
  return { status: 500, errorCode: 203, detail: 'Unexpected error in the gateway.' };
}
