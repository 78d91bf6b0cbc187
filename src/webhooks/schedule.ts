/**
 * When an event is tried again. Pure: the result and the number of an attempt decide.
 *
 * An attempt may be brought forward when the endpoint takes deliveries again (`recoveries.ts`). It is additional: if
 * it fails, the schedule continues as if it had not been made.
 */

import type { JobOutcome, NextDelivery } from './ports.ts';

/**
 * Seconds before each attempt, counted from the end of the previous one (Standard Webhooks 1.0, "Deliverability and
 * reliability"): three days in total, so that a receiver may be down over a weekend.
 */
const DELAYS_SECONDS = [0, 5, 300, 1_800, 7_200, 18_000, 36_000, 50_400, 72_000, 86_400] as const;

/**
 * Adds up to a fifth, so that deliveries that failed together are not repeated together. It never subtracts, so no
 * attempt is early.
 */
const JITTER = 0.2;
/** A receiver may request a pause; a pause beyond the longest step would amount to dropping the event. */
const MAX_RETRY_AFTER_SECONDS = 86_400;

/** If an early attempt failed, the event or its receiver needs longer: each further one waits four times as long. */
const EARLY_AGAIN_SECONDS = 60;
const EARLY_AGAIN_FACTOR = 4;
/** Tolerance for clocks and commits: a delivery due within a second counts as due. */
const EARLY_FROM_SECONDS = 1;

/** Result of one attempt: a response, or why there was none. */
export type AttemptResult =
  | { readonly status: number; readonly retryAfterSeconds?: number | undefined }
  | { readonly error: string };

/** What becomes of an event after an attempt. */
type NextStep = Pick<JobOutcome, 'state' | 'next' | 'disablesEndpoint'>;

/** An attempt as the schedule sees it. */
export interface ScheduledAttempt {
  /** Number of the delivery in the schedule, from 1. */
  readonly delivery: number;
  /** How long before the scheduled time it ended; 0 unless it was brought forward. */
  readonly dueInSeconds: number;
  /** How many were brought forward since the last one of the schedule. */
  readonly earlyAttempts: number;
}

/** @param random from 0 to 1, for the jitter */
export function nextStep(attempt: ScheduledAttempt, result: AttemptResult, random: number): NextStep {
  if ('status' in result) {
    if (result.status >= 200 && result.status < 300) return ended('delivered');
    // The receiver refuses all further webhooks.
    if (result.status === 410) return { ...ended('stopped'), disablesEndpoint: true };
  }
  const wantedSeconds = 'status' in result ? (result.retryAfterSeconds ?? 0) : 0;
  const retryAfterSeconds = Math.min(wantedSeconds, MAX_RETRY_AFTER_SECONDS);
  if (attempt.dueInSeconds > EARLY_FROM_SECONDS) return afterEarly(attempt, retryAfterSeconds);
  const delaySeconds = DELAYS_SECONDS[attempt.delivery];
  // The schedule has ended. Only a replay sends the event again.
  if (delaySeconds === undefined) return ended('failed');
  return again({
    delivery: attempt.delivery + 1,
    afterSeconds: Math.max(delaySeconds, retryAfterSeconds) * (1 + JITTER * random),
    notEarlyForSeconds: retryAfterSeconds,
    earlyAttempts: 0,
  });
}

/** The schedule is unchanged: the same delivery stays due at the same time. */
function afterEarly({ delivery, dueInSeconds, earlyAttempts }: ScheduledAttempt, retryAfterSeconds: number): NextStep {
  const againSeconds = EARLY_AGAIN_SECONDS * EARLY_AGAIN_FACTOR ** earlyAttempts;
  return again({
    delivery,
    afterSeconds: Math.max(dueInSeconds, retryAfterSeconds),
    notEarlyForSeconds: Math.min(Math.max(againSeconds, retryAfterSeconds), MAX_RETRY_AFTER_SECONDS),
    earlyAttempts: earlyAttempts + 1,
  });
}

function ended(state: NextStep['state']): NextStep {
  return { state, next: null, disablesEndpoint: false };
}

function again(next: NextDelivery): NextStep {
  return { state: 'pending', next, disablesEndpoint: false };
}

/**
 * `Retry-After` (RFC 9110 10.2.3) as seconds from now: a number of seconds or a date. Undefined if it is neither, or
 * if the date has passed.
 */
export function parseRetryAfter(value: string | undefined, nowMs: number): number | undefined {
  if (value === undefined) return undefined;
  if (/^\d{1,9}$/.test(value)) return Number(value);
  // Only the preferred date format: others require a guess at the century.
  if (!/^[A-Z][a-z]{2}, \d{2} [A-Z][a-z]{2} \d{4} \d{2}:\d{2}:\d{2} GMT$/.test(value)) return undefined;
  const seconds = Math.ceil((Date.parse(value) - nowMs) / 1_000);
  return seconds > 0 ? seconds : undefined;
}
