import { SignJWT } from 'jose';
import { z } from 'zod';
import { Secret } from '../codecs/bytes/secret.ts';
import type { Clock } from '../payments/ports/process-ports.ts';
import type { GuardedFetch } from '../webhooks/guarded-fetch.ts';
import type { ServiceAccount } from './service-account.ts';

const SCOPE = 'https://www.googleapis.com/auth/firebase.messaging';
const GRANT_TYPE = 'urn:ietf:params:oauth:grant-type:jwt-bearer';
/** Google refuses an assertion that lives longer than an hour; this one is used once, at once. */
const ASSERTION_SECONDS = 300;
/** A token that expires while a message is being sent is refused, so it is renewed this much earlier. */
const RENEW_BEFORE_MS = 60_000;
/** Access tokens have up to 2 KB. */
const MAX_ANSWER_BYTES = 16_384;

const tokenAnswer = z.object({ access_token: z.string().min(1), expires_in: z.number().positive() });

export interface AccessTokensOptions {
  readonly account: ServiceAccount;
  readonly fetcher: Pick<GuardedFetch, 'request'>;
  readonly clock: Clock;
}

interface HeldToken {
  readonly token: Secret<string>;
  /** On the monotonic clock. */
  readonly renewAtMs: number;
}

/** OAuth 2 access tokens of a service account (RFC 7523 2.1), each used until it is about to expire. */
export class AccessTokens {
  readonly #options: AccessTokensOptions;
  #held: HeldToken | undefined;
  #asking: Promise<HeldToken | undefined> | undefined;

  constructor(options: AccessTokensOptions) {
    this.#options = options;
  }

  /**
   * Concurrent callers share one request.
   *
   * @returns undefined if the authorization server gives no token
   * @throws OutboundError if it does not respond
   */
  async get(timeoutMs: number): Promise<Secret<string> | undefined> {
    const nowMs = this.#options.clock.monotonicMs();
    if (this.#held && nowMs < this.#held.renewAtMs) return this.#held.token;
    this.#asking ??= this.#ask(timeoutMs).finally(() => {
      this.#asking = undefined;
    });
    this.#held = await this.#asking;
    return this.#held?.token;
  }

  /** The push service refused this token: the next call gets a new one. */
  forget(token: Secret<string>): void {
    if (this.#held?.token === token) this.#held = undefined;
  }

  async #ask(timeoutMs: number): Promise<HeldToken | undefined> {
    const { account, fetcher, clock } = this.#options;
    const startedAtMs = clock.monotonicMs();
    const body = new URLSearchParams({ grant_type: GRANT_TYPE, assertion: await this.#sign() }).toString();
    const answer = await fetcher.request({
      url: account.tokenUrl,
      method: 'POST',
      headers: { 'content-type': 'application/x-www-form-urlencoded', 'user-agent': 'Tapwire' },
      body,
      timeoutMs,
      maxAnswerBytes: MAX_ANSWER_BYTES,
    });
    const given = answer.status === 200 ? tokenAnswer.safeParse(parseJson(answer.body)) : undefined;
    if (!given?.success) return undefined;
    const { access_token, expires_in } = given.data;
    return { token: new Secret(access_token), renewAtMs: startedAtMs + expires_in * 1_000 - RENEW_BEFORE_MS };
  }

  #sign(): Promise<string> {
    const { account, clock } = this.#options;
    const iat = Math.floor(clock.nowMs() / 1_000);
    return new SignJWT({ scope: SCOPE })
      .setProtectedHeader({ alg: 'RS256', typ: 'JWT', ...(account.keyId !== undefined && { kid: account.keyId }) })
      .setIssuer(account.email)
      .setAudience(account.tokenUrl.href)
      .setIssuedAt(iat)
      .setExpirationTime(iat + ASSERTION_SECONDS)
      .sign(account.privateKey);
  }
}

function parseJson(body: Buffer): unknown {
  try {
    return JSON.parse(body.toString());
  } catch {
    return undefined;
  }
}
