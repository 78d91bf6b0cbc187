import { createPrivateKey, type KeyObject } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { SignJWT } from 'jose';
import { z } from 'zod';
import { OutboundError, StartError } from '../basics/errors.ts';
import { parseJson } from '../basics/parse-json.ts';
import { Secret } from '../codecs/bytes/secret.ts';
import type { GuardedFetch, GuardedResponse } from '../outbound/guarded-fetch.ts';
import type { Clock } from '../payments/ports/transaction-dependencies.ts';
import { parseRetryAfter } from '../webhooks/schedule.ts';
import type { PushMessage, PushResult, PushSender } from './ports.ts';

const SCOPE = 'https://www.googleapis.com/auth/firebase.messaging';
const GRANT_TYPE = 'urn:ietf:params:oauth:grant-type:jwt-bearer';
/** Google refuses an assertion that lives longer than an hour; this one is used once, at once. */
const ASSERTION_SECONDS = 300;
/** A token that expires while a message is being sent is refused, so it is renewed this much earlier. */
const RENEW_BEFORE_MS = 60_000;
/** Access tokens have up to 2 KB. */
const MAX_TOKEN_BYTES = 16_384;

const tokenResponse = z.object({ access_token: z.string().min(1), expires_in: z.number().positive() });

interface HeldToken {
  readonly token: Secret<string>;
  /** When the token is renewed, on the monotonic clock. */
  readonly renewAtMs: number;
}

/** OAuth 2 access tokens of a service account (RFC 7523 2.1), each used until it is about to expire. */
export class AccessTokens {
  readonly #options;
  #held: HeldToken | undefined;
  #asking: Promise<HeldToken | undefined> | undefined;

  constructor(options: {
    readonly account: ServiceAccount;
    readonly fetcher: Pick<GuardedFetch, 'request'>;
    readonly clock: Clock;
  }) {
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
    const response = await fetcher.request({
      url: account.tokenUrl,
      method: 'POST',
      headers: { 'content-type': 'application/x-www-form-urlencoded', 'user-agent': 'Tapwire' },
      body,
      timeoutMs,
      maxResponseBytes: MAX_TOKEN_BYTES,
    });
    const given = response.status === 200 ? tokenResponse.safeParse(parseJson(response.body.toString())) : undefined;
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

/** Google's files have 2.4 KB; an RSA key of 8,192 bits would increase them to 8 KB. */
const MAX_FILE_CHARS = 16_384;

/** The required fields of a Google service account's key file, which has more. */
const accountFile = z.object({
  type: z.literal('service_account'),
  project_id: z.string().regex(/^[a-z0-9:.-]{1,64}$/),
  private_key_id: z.string().min(1).max(255).optional(),
  private_key: z.string(),
  client_email: z.string().min(3).max(320),
  token_uri: z.url(),
});

/** The gateway's identity at the push service. */
export interface ServiceAccount {
  readonly projectId: string;
  readonly email: string;
  readonly keyId: string | undefined;
  readonly privateKey: KeyObject;
  /** URL for access tokens. */
  readonly tokenUrl: URL;
}

/**
 * Reads the key file of a Google service account.
 *
 * @throws StartError BAD_CONFIG naming the wrong field, never a value
 */
export async function readServiceAccount(path: string): Promise<ServiceAccount> {
  const bad = (what: string) => new StartError('BAD_CONFIG', `FCM_SERVICE_ACCOUNT_FILE: ${path} ${what}`);
  const text = await readFile(path, 'utf8').catch((cause: NodeJS.ErrnoException) => {
    throw bad(`cannot be read (${cause.code})`);
  });
  if (text.length > MAX_FILE_CHARS) throw bad('is too large for a key file');
  const read = accountFile.safeParse(parseJson(text));
  if (!read.success) throw bad(`is no service account: see /${read.error.issues[0]?.path.join('/') ?? ''}`);
  const { project_id, private_key_id, private_key, client_email, token_uri } = read.data;
  const privateKey = importKey(private_key);
  if (!privateKey) throw bad('has no RSA key in /private_key');
  return {
    projectId: project_id,
    email: client_email,
    keyId: private_key_id,
    privateKey,
    tokenUrl: new URL(token_uri),
  };
}

function importKey(pem: string): KeyObject | undefined {
  try {
    const key = createPrivateKey(pem);
    return key.asymmetricKeyType === 'rsa' ? key : undefined;
  } catch {
    return undefined;
  }
}

/** A response names a message or an error, with a paragraph of help at most. */
const MAX_RESPONSE_BYTES = 8_192;
const FCM_ERROR = 'type.googleapis.com/google.firebase.fcm.v1.FcmError';

const errorResponse = z.object({
  error: z.object({
    status: z.string().optional(),
    details: z.array(z.object({ '@type': z.string(), errorCode: z.string().optional() })).optional(),
  }),
});

/** Firebase Cloud Messaging, HTTP v1: `projects.messages.send`. */
export class FcmSender implements PushSender {
  readonly #options;
  readonly #tokens: AccessTokens;
  readonly #url: URL;

  constructor(options: {
    readonly account: ServiceAccount;
    /** `https://fcm.googleapis.com`. */
    readonly url: string;
    readonly fetcher: Pick<GuardedFetch, 'request'>;
    readonly clock: Clock;
  }) {
    this.#options = options;
    this.#tokens = new AccessTokens(options);
    this.#url = new URL(`/v1/projects/${options.account.projectId}/messages:send`, options.url);
  }

  async send(message: PushMessage, timeoutMs: number): Promise<PushResult> {
    const deadlineAtMs = this.#options.clock.monotonicMs() + timeoutMs;
    try {
      const result = await this.#attempt(message, deadlineAtMs);
      // The access token was revoked early: one more attempt with a new one.
      return result === 'unauthenticated' ? await this.#secondAttempt(message, deadlineAtMs) : result;
    } catch (error) {
      if (error instanceof OutboundError) return { kind: 'unavailable', retryAfterSeconds: undefined };
      throw error;
    }
  }

  async #secondAttempt(message: PushMessage, deadlineAtMs: number): Promise<PushResult> {
    const result = await this.#attempt(message, deadlineAtMs);
    return result === 'unauthenticated' ? { kind: 'failed', reason: 'REFUSED' } : result;
  }

  async #attempt(message: PushMessage, deadlineAtMs: number): Promise<PushResult | 'unauthenticated'> {
    const { fetcher, clock } = this.#options;
    const leftMs = () => Math.max(1, deadlineAtMs - clock.monotonicMs());
    const token = await this.#tokens.get(leftMs());
    if (token === undefined) return { kind: 'unavailable', retryAfterSeconds: undefined };
    const response = await fetcher.request({
      url: this.#url,
      method: 'POST',
      headers: {
        authorization: `Bearer ${token.reveal()}`,
        'content-type': 'application/json',
        'user-agent': 'Tapwire',
      },
      body: JSON.stringify(bodyOf(message)),
      timeoutMs: leftMs(),
      maxResponseBytes: MAX_RESPONSE_BYTES,
    });
    if (response.status === 401) {
      this.#tokens.forget(token);
      return 'unauthenticated';
    }
    return resultOf(response, clock.nowMs());
  }
}

/**
 * Data only, so that the app itself decides what to show; with high priority, because a customer is waiting at a
 * till.
 */
function bodyOf({ pushToken, data, ttlSeconds }: PushMessage): object {
  return {
    message: { token: pushToken.reveal(), data, android: { priority: 'HIGH', ttl: `${ttlSeconds}s` } },
  };
}

/** FCM's error codes: UNREGISTERED ends a token, quotas and outages are temporary, and the others would repeat. */
function resultOf({ status, headers, body }: GuardedResponse, nowMs: number): PushResult {
  if (status >= 200 && status < 300) return { kind: 'sent' };
  if (status === 429 || status >= 500) {
    return { kind: 'unavailable', retryAfterSeconds: parseRetryAfter(headers['retry-after'], nowMs) };
  }
  return { kind: 'failed', reason: errorCodeOf(body) === 'UNREGISTERED' ? 'UNREGISTERED' : 'REFUSED' };
}

function errorCodeOf(body: Buffer): string | undefined {
  try {
    const { error } = errorResponse.parse(JSON.parse(body.toString()));
    return error.details?.find((detail) => detail['@type'] === FCM_ERROR)?.errorCode;
  } catch {
    return undefined;
  }
}

/** For development: logs that a message would have been sent, without its content. */
export function createLogSender(log: (message: Pick<PushMessage, 'reference'>) => void): PushSender {
  return {
    async send({ reference }) {
      log({ reference });
      return { kind: 'sent' };
    },
  };
}

/** Used if no push service is configured: every push falls back to its link. */
export const NO_PUSH_SENDER: PushSender = {
  send: async () => ({ kind: 'failed', reason: 'NOT_CONFIGURED' }),
};
