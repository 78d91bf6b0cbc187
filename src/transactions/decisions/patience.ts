import type { Transaction } from '../model/transaction.ts';

/** A line that was lost is signed on again within seconds, as a rule. */
const LEAST_SECONDS = 5;
/** A switch that is back after a night has what it is owed five minutes later. */
export const MOST_PATIENCE_SECONDS = 300;

/**
 * Seconds until a line is looked for again. The longer a switch has been away, the less often it is asked for: ten thousand
 * reversals or completions must not crowd out taps.
 */
export function patience(
  { sentAtMs, reversalArmedAtMs }: Pick<Transaction, 'sentAtMs' | 'reversalArmedAtMs'>,
  nowMs: number,
): number {
  const tenthOfItsAge = Math.round((nowMs - (reversalArmedAtMs ?? sentAtMs ?? nowMs)) / 10_000);
  return Math.min(Math.max(tenthOfItsAge, LEAST_SECONDS), MOST_PATIENCE_SECONDS);
}
