/**
 * How many taps, PINs and acknowledgements a token and a merchant may submit. A busy shop never meets these limits: they
 * stop a token that was lost or handed to a customer, and a client in a loop, before they use up database and switches.
 *
 * Counted in each process by itself, like the other rates (`rate-limit.ts`).
 */
import type { FastifyRequest } from 'fastify';
import { bearerToken } from '../auth/bearer.ts';
import type { TapTokens } from '../auth/tokens/tap-tokens.ts';
import type { Principal } from '../transactions/model/principal.ts';
import { bucketsOf, fingerprint, refusal } from './rate-limit.ts';
import type { TokenBuckets } from './token-buckets.ts';

/** Requests per second; 0 for no limit. */
export interface TapRates {
  /** Of the tokens of one link or intent. */
  readonly perLink: number;
  /** Of one token that a merchant's backend signed. */
  readonly perToken: number;
  /** Of one merchant; those by tokens of links are counted apart. */
  readonly perMerchant: number;
}

export interface TapLimitsOptions extends TapRates {
  readonly monotonicMs: () => number;
}

export class TapLimits {
  readonly #monotonicMs: () => number;
  readonly #links: TokenBuckets<string>;
  readonly #tokens: TokenBuckets<number>;
  readonly #merchants: TokenBuckets<string>;

  constructor({ perLink, perToken, perMerchant, monotonicMs }: TapLimitsOptions) {
    this.#monotonicMs = monotonicMs;
    this.#links = bucketsOf(perLink);
    this.#tokens = bucketsOf(perToken);
    this.#merchants = bucketsOf(perMerchant);
  }

  /** @throws Throttled when the token or its merchant has submitted too much */
  admit({ acquirerId, merchantId, consumerId }: Principal, token: string): void {
    const nowMs = this.#monotonicMs();
    const ofToken =
      consumerId === undefined
        ? refusal(this.#tokens, 'token', this.#tokens.take(fingerprint(token), nowMs))
        : refusal(this.#links, 'link', this.#links.take(`${acquirerId} ${consumerId}`, nowMs));
    if (ofToken) throw ofToken;
    // Customers hold the tokens of links: whatever they send, the merchant's tills have all of their own quota.
    const payer = consumerId === undefined ? 'tills' : 'links';
    const wait = this.#merchants.take(`${payer} ${acquirerId} ${merchantId}`, nowMs);
    const ofMerchant = refusal(this.#merchants, 'merchant', wait);
    if (ofMerchant) throw ofMerchant;
  }
}

/** Makes an `onRequest` that sets `submitter`, before the body is read: a stranger gets no further than the header. */
export function identifySubmitter(tokens: TapTokens, limits: TapLimits): (request: FastifyRequest) => Promise<void> {
  return async (request) => {
    const token = bearerToken(request.headers.authorization);
    const submitter = await tokens.verify(token);
    limits.admit(submitter, token);
    request.submitter = submitter;
  };
}
