import { randomUUID } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { Attestations } from '../auth/attestation/attestations.ts';
import { Overloaded } from '../basics/errors.ts';
import type { TapLoad } from '../basics/limits/concurrency-limit.ts';
import { makeRoom } from '../codecs/bytes/lru-map.ts';
import { formatTraceparent, type RequestLog, takeTrace } from '../observe/request-log.ts';
import { correlationIdOf, HSTS } from './guard-requests.ts';
import { problemBody, problemOf } from './problem.ts';
import { fingerprint, TokenBuckets } from './rate-limit.ts';

const HALVE_AFTER_MS = 1_000;
/** Tokens whose acquirer is known; each takes about 50 bytes. */
const MAX_TOKENS = 65_536;
/** Unknown tokens that are verified each second while a process is full: a few percent of its core. */
const UNKNOWN_PER_SECOND = 100;

/**
 * Shares a process between acquirers while it has as many taps as it can work on, so that the taps of one acquirer do
 * not keep out those of another. An acquirer has its share if it has more than an equal part of the taps accepted lately.
 * The equal part is computed for one acquirer more than had taps lately, so there is always room for an acquirer that begins.
 *
 * A refusal has to be cheap, so it is decided before the token is verified: the acquirer of a token is known from its last tap.
 */
export class TapShares {
  readonly #monotonicMs: () => number;
  /** By fingerprint of the token; the oldest is dropped first. */
  readonly #acquirers = new Map<number, number>();
  readonly #unknown = new TokenBuckets<''>({ perSecond: UNKNOWN_PER_SECOND, burstSeconds: 1 }, 1);
  /** Taps accepted lately, by acquirer. */
  readonly #accepted = new Map<number, number>();
  #total = 0;
  #halvedAtMs = 0;

  constructor(monotonicMs: () => number) {
    this.#monotonicMs = monotonicMs;
  }

  /** Whether a tap with this Authorization may be looked at while the process is full. */
  mayPass(authorization = ''): boolean {
    const acquirerId = this.#acquirers.get(fingerprint(authorization));
    if (acquirerId === undefined) return this.#unknown.take('', this.#monotonicMs()) === 0;
    return !this.hasItsShare(acquirerId);
  }

  hasItsShare(acquirerId: number): boolean {
    this.#move();
    return (this.#accepted.get(acquirerId) ?? 0) > this.#total / (this.#accepted.size + 1);
  }

  accept(acquirerId: number): void {
    this.#move();
    this.#accepted.set(acquirerId, (this.#accepted.get(acquirerId) ?? 0) + 1);
    this.#total++;
  }

  /** Remembers whose token this is. Only for a verified token. */
  learn(acquirerId: number, authorization = ''): void {
    const token = fingerprint(authorization);
    if (this.#acquirers.get(token) === acquirerId) return;
    makeRoom(this.#acquirers, MAX_TOKENS);
    this.#acquirers.set(token, acquirerId);
  }

  /** Halves the counts each second, so that shares follow the load and do not begin from nothing. */
  #move(): void {
    const nowMs = this.#monotonicMs();
    if (nowMs - this.#halvedAtMs < HALVE_AFTER_MS) return;
    this.#halvedAtMs = nowMs;
    this.#total = 0;
    for (const [acquirerId, count] of this.#accepted) {
      const half = Math.floor(count / 2);
      if (half === 0) this.#accepted.delete(acquirerId);
      else this.#accepted.set(acquirerId, half);
      this.#total += half;
    }
  }
}

declare module 'fastify' {
  interface FastifyRequest {
    /** Whether the request counts as load now. */
    isLoad: boolean;
  }
}

interface TapAdmission {
  readonly load: TapLoad;
  readonly log: RequestLog;
  /** See `guard-requests.ts`, which refuses plain HTTP with another status. */
  readonly requiresHttps: boolean;
  readonly monotonicMs: () => number;
}

/** The only requests that are refused: all others end what was begun, or cost little. */
const TAPS = '/transactions/mobile';
const REFUSAL = problemOf(new Overloaded('gateway'))!;

/**
 * Counts the requests that end in a message to a switch, and refuses new taps while the process has too many of them.
 *
 * A refusal must cost much less than a tap, or the refusals use up the time for the taps that were accepted. So it is
 * sent before fastify, the token, the body and the card data are looked at. A tap counts when its body is complete: a
 * slow phone keeps nothing busy, and many slow phones must not use up the limit. The limit is checked again then,
 * because many requests can arrive in one turn of the event loop.
 *
 * Acquirers that have less than their share are refused only at twice the limit.
 */
export function admitTaps(server: FastifyInstance, admission: TapAdmission): void {
  const { load } = admission;
  const shares = new TapShares(admission.monotonicMs);
  refuseEarly(server, admission, shares);
  server.decorateRequest('isLoad', false);
  server.addHook('preValidation', (request, _reply, done) => {
    if (request.routeOptions.config.facts?.waitsForSwitch !== true) return done();
    if (request.routeOptions.url === TAPS && !isAccepted(request, load, shares)) return done(new Overloaded('gateway'));
    request.isLoad = true;
    load.begin();
    return done();
  });
  const end = (request: FastifyRequest) => {
    if (!request.isLoad) return;
    request.isLoad = false;
    load.end();
  };
  // The handler has ended, even if the phone disconnected before.
  server.addHook('onSend', (request, _reply, payload, done) => {
    end(request);
    done(null, payload);
  });
  server.addHook('onResponse', (request, _reply, done) => {
    end(request);
    done();
  });
}

function isAccepted({ headers, submitter }: FastifyRequest, load: TapLoad, shares: TapShares): boolean {
  const { acquirerId } = submitter!;
  shares.learn(acquirerId, headers.authorization);
  if (load.isOverfull || (load.isFull && shares.hasItsShare(acquirerId))) return false;
  shares.accept(acquirerId);
  return true;
}

function refuseEarly(server: FastifyInstance, { load, log, requiresHttps }: TapAdmission, shares: TapShares): void {
  const isFullFor = ({ headers }: IncomingMessage) =>
    load.isOverfull || (load.isFull && !shares.mayPass(headers.authorization));
  const http = server.server;
  const listeners = http.listeners('request') as ((request: IncomingMessage, response: ServerResponse) => void)[];
  http.removeAllListeners('request');
  http.on('request', (request: IncomingMessage, response: ServerResponse) => {
    // A server that stops closes each connection with its response (drain-connections.ts).
    const mayRefuse = load.isFull && http.listening && isTap(request);
    const isRefused = mayRefuse && (!requiresHttps || isByHttps(request)) && isFullFor(request);
    if (isRefused) refuse(request, response, log, requiresHttps ? HSTS_HEADER : undefined);
    else for (const listener of listeners) listener.call(http, request, response);
  });
}

function isTap({ method, url }: IncomingMessage): boolean {
  return method === 'POST' && url === TAPS;
}

const HSTS_HEADER = { 'strict-transport-security': HSTS };

/** A client that claims this falsely is refused with 503 instead of 403. */
function isByHttps({ socket, headers }: IncomingMessage): boolean {
  return 'encrypted' in socket || headers['x-forwarded-proto'] === 'https';
}

/** The response that fastify would send. Node skips the body of the request. */
function refuse(request: IncomingMessage, response: ServerResponse, log: RequestLog, hsts?: typeof HSTS_HEADER): void {
  const startedAtMs = performance.now();
  const { headers } = request;
  const correlationId = correlationIdOf(headers) ?? randomUUID();
  const trace = takeTrace(headers.traceparent);
  const body = JSON.stringify(problemBody(REFUSAL, TAPS, correlationId));
  response.writeHead(REFUSAL.status, {
    'x-correlation-id': correlationId,
    traceparent: formatTraceparent(trace),
    'api-version': '4.0',
    'x-content-type-options': 'nosniff',
    'cache-control': 'no-store',
    ...REFUSAL.headers,
    ...hsts,
    'content-type': 'application/problem+json',
    'content-length': Buffer.byteLength(body),
  });
  response.end(body);
  const logged = { correlationId, trace, method: 'POST', routeOptions: { url: TAPS }, headers: request.headers };
  log.overloaded(logged, 'gateway');
  log.refused(logged, REFUSAL);
  log.responded(logged, { statusCode: REFUSAL.status, elapsedTime: performance.now() - startedAtMs });
}

/**
 * Makes an `onRequest` for requests with card data: it follows the one that sets `submitter`, and runs before the body
 * is read.
 */
export function requireAttestation(
  attestations: Pick<Attestations, 'check'>,
): (request: FastifyRequest) => Promise<void> {
  return async ({ headers, submitter }) => {
    const device = headers['x-device-installation-id'];
    const token = headers['x-device-attestation'];
    await attestations.check(submitter!.acquirerId, textOf(device) ?? '', textOf(token));
  };
}

/** Node joins repeated headers of these names with commas, so that a list never occurs. */
function textOf(header: string | string[] | undefined): string | undefined {
  return typeof header === 'string' ? header : undefined;
}
