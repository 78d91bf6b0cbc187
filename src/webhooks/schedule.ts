/**
 * When an event is tried again. Pure: what came of an attempt, and which attempt it was, decide.
 */

/**
 * Seconds before each attempt, counted from the end of the one before (Standard Webhooks 1.0, "Deliverability and
 * reliability"): three days in all, so that a receiver may be down over a weekend.
 */
const DELAYS_SECONDS = [0, 5, 300, 1_800, 7_200, 18_000, 36_000, 50_400, 72_000, 86_400] as const;

export const MAX_DELIVERIES = DELAYS_SECONDS.length;

/** Up to a fifth more: what failed together must not come back together. Never less, so that no attempt is early. */
const JITTER = 0.2;
/** A receiver may ask for patience; beyond the longest step it would be asking us to forget. */
const MAX_RETRY_AFTER_SECONDS = 86_400;

/** What came of one attempt: an answer, or why there was none. */
export type AttemptResult =
  | { readonly status: number; readonly retryAfterSeconds?: number | undefined }
  | { readonly error: string };

export type NextStep =
  | { readonly kind: 'delivered' }
  /** 410: the receiver wants no more of anything. */
  | { readonly kind: 'gone' }
  | { readonly kind: 'again'; readonly delivery: number; readonly afterSeconds: number }
  /** The schedule is over. Only a replay sends it again. */
  | { readonly kind: 'failed' };

/**
 * @param delivery which attempt of the schedule it was, from 1
 * @param random from 0 to 1, for the jitter
 */
export function nextStep(delivery: number, result: AttemptResult, random: number): NextStep {
  if ('status' in result) {
    if (result.status >= 200 && result.status < 300) return { kind: 'delivered' };
    if (result.status === 410) return { kind: 'gone' };
  }
  const delaySeconds = DELAYS_SECONDS[delivery];
  if (delaySeconds === undefined) return { kind: 'failed' };
  const wantedSeconds = 'status' in result ? (result.retryAfterSeconds ?? 0) : 0;
  const patientSeconds = Math.max(delaySeconds, Math.min(wantedSeconds, MAX_RETRY_AFTER_SECONDS));
  return { kind: 'again', delivery: delivery + 1, afterSeconds: patientSeconds * (1 + JITTER * random) };
}

/**
 * `Retry-After` (RFC 9110 10.2.3) as seconds from now: a number of seconds or a date. Undefined when it is neither, or
 * when the date has passed.
 */
export function parseRetryAfter(value: string | undefined, nowMs: number): number | undefined {
  if (value === undefined) return undefined;
  if (/^\d{1,9}$/.test(value)) return Number(value);
  // Of the date formats only the preferred one: others need a guess at the century.
  if (!/^[A-Z][a-z]{2}, \d{2} [A-Z][a-z]{2} \d{4} \d{2}:\d{2}:\d{2} GMT$/.test(value)) return undefined;
  const seconds = Math.ceil((Date.parse(value) - nowMs) / 1_000);
  return seconds > 0 ? seconds : undefined;
}
