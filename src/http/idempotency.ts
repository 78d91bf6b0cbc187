import { hash } from 'node:crypto';
import type {
  FastifyReply,
  FastifyRequest,
  onSendAsyncHookHandler,
  preHandlerAsyncHookHandler,
  RouteOptions,
} from 'fastify';
import type { Authenticator } from '../auth/authenticator.ts';
import type { Claim, ClaimOutcome, KeptAnswer, KeyedRequest } from '../store/transactions/idempotency.ts';
import { HttpError } from './http-error.ts';
import { refuseHeader } from './refuse-header.ts';

/** Where answers are kept. */
export interface AnswerKeeper {
  claim(request: KeyedRequest): Promise<ClaimOutcome>;
  keep(claim: Claim, answer: KeptAnswer): Promise<void>;
  release(claim: Claim): Promise<void>;
}

/**
 * What makes a creating POST idempotent: a route spreads it into its options, behind an `onRequest` that checks the
 * credential and its scope.
 *
 * With `Idempotency-Key`, the first request runs and its answer is kept for a day, per credential and route. The same request
 * again gets it with `Idempotency-Replayed: true`; another request under the key 422; one that comes while the first
 * still runs 409. What failed on our side, or for want of rights, is not kept: the next request runs.
 */
export interface IdempotentRoute {
  readonly preHandler: preHandlerAsyncHookHandler;
  readonly onSend: onSendAsyncHookHandler<unknown>;
}

const HEADER = 'idempotency-key';
/** A quoted string (draft-ietf-httpapi-idempotency-key-header) or the bare key: visible ASCII, blanks inside. */
const KEY = /^(?:"([\x20\x21\x23-\x7e]{1,255})"|([\x21\x23-\x7e](?:[\x20\x21\x23-\x7e]{0,253}[\x21\x23-\x7e])?))$/;
/** Of the answer's headers, those that belong to what was created. */
const KEPT_HEADERS = ['content-type', 'location', 'cache-control'];
/** Answers that the same request may not get again: they say nothing of it, or a moment later another thing. */
const NOT_KEPT = new Set([401, 403, 408, 425, 429]);

const claims = new WeakMap<FastifyRequest, Claim>();
/** By which routes are known that take the header. */
const preHandlers = new WeakSet<object>();

/** Whether a route was made so. */
export function isIdempotent({ preHandler }: RouteOptions): boolean {
  return [preHandler].flat().some((each) => each !== undefined && preHandlers.has(each));
}

export function createIdempotency(authenticator: Authenticator, keeper: AnswerKeeper): IdempotentRoute {
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
      // What was done is done, and its caller is told so; a repeat is told that it runs until the claim is abandoned.
      await kept.catch(() => {});
      return payload;
    },
  };
  preHandlers.add(idempotent.preHandler);
  return idempotent;
}

/** Without its quotes; undefined when there is none. */
function readKey(header: string | string[] | undefined): string | undefined {
  if (header === undefined) return undefined;
  const [, quoted, bare] = (typeof header === 'string' && KEY.exec(header)) || [];
  return quoted ?? bare ?? refuseHeader(HEADER, 'must be 1 to 255 visible characters');
}

/** The address is part of it: the same body for another transaction is another request. */
function fingerprintOf({ url, body }: FastifyRequest): Buffer {
  return hash('sha256', `${url}\n${JSON.stringify(body ?? null)}`, 'buffer');
}

function replay(outcome: Exclude<ClaimOutcome, { kind: 'claimed' }>, reply: FastifyReply): FastifyReply {
  switch (outcome.kind) {
    case 'running':
      throw new HttpError(409, 134, 'The request with this Idempotency-Key is still running.');
    case 'otherRequest':
      throw new HttpError(422, 104, 'The Idempotency-Key was already used for another request.');
    case 'answered': {
      const { status, headers, body } = outcome.answer;
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
