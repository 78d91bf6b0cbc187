import { hash } from 'node:crypto';
import type {
  FastifyReply,
  FastifyRequest,
  onSendAsyncHookHandler,
  preHandlerAsyncHookHandler,
  RouteOptions,
} from 'fastify';
import type { Authenticator } from '../auth/authenticator.ts';
import { invalidValues } from '../basics/errors.ts';
import type { Claim, ClaimOutcome, KeptResponse, KeyedRequest } from '../store/transactions/idempotency.ts';
import { HttpError } from './problem.ts';

/** Stores responses for replay. */
export interface ResponseKeeper {
  claim(request: KeyedRequest): Promise<ClaimOutcome>;
  keep(claim: Claim, response: KeptResponse): Promise<void>;
  release(claim: Claim): Promise<void>;
}

/** What guards the routes that identify their callers and accept repeated requests. */
export interface RouteGuards {
  readonly authenticator: Authenticator;
  readonly idempotent: IdempotentRoute;
}

/**
 * Makes a creating POST idempotent. A route spreads it into its options, after an `onRequest` that checks the
 * credential and its scope.
 *
 * With `Idempotency-Key`, the first request runs, and its response is stored for a day per credential and route. The
 * same request then gets this response with `Idempotency-Replayed: true`. A different request with the same key gets
 * 422. A request that arrives while the first still runs gets 409. A response to a server error or to missing rights
 * is not stored, so the next request runs.
 */
export interface IdempotentRoute {
  readonly preHandler: preHandlerAsyncHookHandler;
  readonly onSend: onSendAsyncHookHandler<unknown>;
}

const HEADER = 'idempotency-key';
/** A quoted string (draft-ietf-httpapi-idempotency-key-header) or the bare key: visible ASCII, with spaces inside. */
const KEY = /^(?:"([\x20\x21\x23-\x7e]{1,255})"|([\x21\x23-\x7e](?:[\x20\x21\x23-\x7e]{0,253}[\x21\x23-\x7e])?))$/;
/** Response headers that are stored, because they belong to the created resource. */
const KEPT_HEADERS = ['content-type', 'location', 'cache-control'];
/** Statuses that are not stored: they do not depend on the request, or can differ a moment later. */
const NOT_KEPT = new Set([401, 403, 408, 425, 429]);

const claims = new WeakMap<FastifyRequest, Claim>();
/** Identifies the routes that take the header. */
const preHandlers = new WeakSet<object>();

/** Whether a route was made by this module. */
export function isIdempotent({ preHandler }: RouteOptions): boolean {
  return [preHandler].flat().some((each) => each !== undefined && preHandlers.has(each));
}

/**
 * Identifies a request with an Idempotency-Key, the same for each of its repeats; null without a key. The process may stop
 * after it has created a resource and before the response is stored. A repeat then runs again, and recognizes by this
 * value what is its own.
 */
export function requestHash(request: FastifyRequest): Uint8Array | null {
  const claim = claims.get(request);
  if (claim === undefined) return null;
  const { credential, route, key, fingerprint } = claim;
  return hash('sha256', JSON.stringify([credential, route, key, Buffer.from(fingerprint).toString('hex')]), 'buffer');
}

export function createIdempotency(authenticator: Authenticator, keeper: ResponseKeeper): IdempotentRoute {
  const idempotent: IdempotentRoute = {
    preHandler: async (request, reply) => {
      const key = readKey(request.headers[HEADER]);
      if (key === undefined) return undefined;
      const credential = await authenticator.credential(request.headers);
      const route = `${request.method} ${request.routeOptions.url ?? ''}`;
      const outcome = await keeper.claim({ credential, route, key, fingerprint: fingerprintOf(request) });
      if (outcome.kind !== 'claimed') return replay(outcome, reply);
      claims.set(request, outcome.claim);
      return undefined;
    },
    onSend: async (request, reply, payload) => {
      const claim = claims.get(request);
      if (claim === undefined) return payload;
      claims.delete(request);
      const { statusCode: status } = reply;
      const isKept = status < 500 && !NOT_KEPT.has(status);
      const kept = isKept
        ? keeper.keep(claim, { status, headers: keptHeaders(reply), body: String(payload ?? '') })
        : keeper.release(claim);
      // The operation is complete, so the caller gets its response even if storing fails. Until the claim is
      // abandoned, a repeat receives the response that the first request still runs.
      await kept.catch(() => {});
      return payload;
    },
  };
  preHandlers.add(idempotent.preHandler);
  return idempotent;
}

/** @returns the key without quotes; undefined if there is no header */
function readKey(header: string | string[] | undefined): string | undefined {
  if (header === undefined) return undefined;
  const [, quoted, bare] = (typeof header === 'string' && KEY.exec(header)) || [];
  return quoted ?? bare ?? refuseHeader(HEADER, 'must be 1 to 255 visible characters');
}

/** Includes the URL: the same body for another transaction is a different request. */
function fingerprintOf({ url, body }: FastifyRequest): Buffer {
  return hash('sha256', `${url}\n${JSON.stringify(body ?? null)}`, 'buffer');
}

function replay(outcome: Exclude<ClaimOutcome, { kind: 'claimed' }>, reply: FastifyReply): FastifyReply {
  switch (outcome.kind) {
    case 'running':
      throw new HttpError(409, 134, 'The request with this Idempotency-Key is still running.');
    case 'otherRequest':
      throw new HttpError(422, 104, 'The Idempotency-Key was already used for another request.');
    case 'responded': {
      const { status, headers, body } = outcome.response;
      if (body === null)
        throw new HttpError(
          409,
          119,
          'The first request with this Idempotency-Key succeeded, but its response was too long to store.',
        );
      return reply
        .code(status)
        .headers(headers)
        .header('idempotency-replayed', 'true')
        .serializer((text: unknown) => text as string)
        .send(body);
    }
  }
}

function keptHeaders(reply: FastifyReply): Record<string, string> {
  const given = KEPT_HEADERS.map((name) => [name, reply.getHeader(name)] as const);
  return Object.fromEntries(given.flatMap(([name, value]) => (value === undefined ? [] : [[name, String(value)]])));
}

/** @throws RequestRejected (INVALID_VALUES) naming the header */
function refuseHeader(name: string, detail: string): never {
  throw invalidValues([{ path: ['headers', name], detail }]);
}
