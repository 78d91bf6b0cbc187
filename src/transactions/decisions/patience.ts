import type { Transaction } from '../model/transaction.ts';

/** A lost connection is usually signed on again within seconds. */
const LEAST_SECONDS = 5;
/**
 * A switch that was unavailable for hours receives its pending reversals and completions at most five minutes after
 * its return.
 */
export const MOST_PATIENCE_SECONDS = 300;

/**
 * Seconds until the next search for a connection. The longer a switch has been unavailable, the less often it is
 * tried, because ten thousand reversals or completions must not crowd out taps.
 */
export function patience(
  { sentAtMs, reversalArmedAtMs }: Pick<Transaction, 'sentAtMs' | 'reversalArmedAtMs'>,
  nowMs: number,
): number {
  const tenthOfItsAge = Math.round((nowMs - (reversalArmedAtMs ?? sentAtMs ?? nowMs)) / 10_000);
  return Math.min(Math.max(tenthOfItsAge, LEAST_SECONDS), MOST_PATIENCE_SECONDS);
}
