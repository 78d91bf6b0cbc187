/**
 * Limits how many taps, PINs and acknowledgements a token and a merchant may submit. A busy shop never reaches these
 * limits. They stop a token that was lost or given to a customer, and a client in a loop, before they exhaust
 * database and switches.
 *
 * Each process counts separately, as for the other limits (`rate-limit.ts`).
 */
import type { FastifyRequest } from 'fastify';
import { bearerToken } from '../auth/bearer.ts';
import type { TapTokens } from '../auth/tokens/tap-tokens.ts';
import type { Principal } from '../payments/model/principal.ts';
import { bucketsOf, fingerprint, refusal } from './rate-limit.ts';
import type { TokenBuckets } from './token-buckets.ts';

/** Requests per second; 0 for no limit. */
interface TapRates {
  /** All tokens of one link or intent. */
  readonly perLink: number;
  /** One token signed by a merchant's backend. */
  readonly perToken: number;
  /** One merchant. Requests with tokens of links are counted separately. */
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

  /** @throws Throttled if the token or its merchant has submitted too many requests */
  admit({ acquirerId, merchantId, consumerId }: Principal, token: string): void {
    const nowMs = this.#monotonicMs();
    const ofToken =
      consumerId === undefined
        ? refusal(this.#tokens, 'token', this.#tokens.take(fingerprint(token), nowMs))
        : refusal(this.#links, 'link', this.#links.take(`${acquirerId} ${consumerId}`, nowMs));
    if (ofToken) throw ofToken;
    // Customers have the tokens of links. Their requests must not use up the quota of the merchant's tills.
    const payer = consumerId === undefined ? 'tills' : 'links';
    const wait = this.#merchants.take(`${payer} ${acquirerId} ${merchantId}`, nowMs);
    const ofMerchant = refusal(this.#merchants, 'merchant', wait);
    if (ofMerchant) throw ofMerchant;
  }
}

/**
 * Makes an `onRequest` that sets `submitter`. It runs before the body is read, so only the headers of an unknown
 * caller are read.
 */
export function identifySubmitter(tokens: TapTokens, limits: TapLimits): (request: FastifyRequest) => Promise<void> {
  return async (request) => {
    const token = bearerToken(request.headers.authorization);
    const submitter = await tokens.verify(token);
    limits.admit(submitter, token);
    request.submitter = submitter;
  };
}
