import type { Transaction } from '../model/transaction.ts';
import type { SentReversal } from '../ports/store-ports.ts';

/** A lost connection is usually signed on again within seconds. */
const MIN_CONNECTION_RETRY_SECONDS = 5;
/**
 * A switch that was unavailable for hours receives its pending reversals and completions at most five minutes after
 * its return.
 */
export const MAX_CONNECTION_RETRY_SECONDS = 300;

/**
 * Seconds until the next search for a connection. The longer a switch has been unavailable, the less often it is
 * tried, because ten thousand reversals or completions must not crowd out taps.
 */
export function connectionRetrySeconds(
  { sentAtMs, reversalArmedAtMs }: Pick<Transaction, 'sentAtMs' | 'reversalArmedAtMs'>,
  nowMs: number,
): number {
  const tenthOfItsAge = Math.round((nowMs - (reversalArmedAtMs ?? sentAtMs ?? nowMs)) / 10_000);
  return Math.min(Math.max(tenthOfItsAge, MIN_CONNECTION_RETRY_SECONDS), MAX_CONNECTION_RETRY_SECONDS);
}

/**
 * The time of an attempt as its DE7 carries it, in whole seconds. If a reversal keeps the STAN of its original, only
 * DE7 distinguishes its attempts from each other and from the original, so no two of them have the same value. A
 * void may be requested within the second of its sale, and a switch may respond to the sale in the form of a reversal.
 */
export function stampAfter(
  { sentAtMs }: Pick<Transaction, 'sentAtMs'>,
  attempts: readonly Pick<SentReversal, 'sentAtMs'>[],
  nowMs: number,
): number {
  const lastSentAtMs = Math.max(sentAtMs ?? 0, attempts.at(-1)?.sentAtMs ?? 0);
  return wholeSecond(Math.max(nowMs, lastSentAtMs + 1_000));
}

function wholeSecond(ms: number): number {
  return Math.floor(ms / 1_000) * 1_000;
}
