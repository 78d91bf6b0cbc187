import { z } from 'zod';
import { OutboundError } from '../basics/errors.ts';
import type { GuardedFetch, GuardedResponse } from '../outbound/guarded-fetch.ts';
import type { Clock } from '../payments/ports/transaction-dependencies.ts';
import { parseRetryAfter } from '../webhooks/schedule.ts';
import { AccessTokens, type ServiceAccount } from './access-tokens.ts';
import type { PushMessage, PushResult, PushSender } from './ports.ts';

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
