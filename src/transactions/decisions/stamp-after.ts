import type { Transaction } from '../model/transaction.ts';
import type { SentReversal } from '../ports/reversal-ports.ts';

/**
 * The time of an attempt as its DE7 carries it, in whole seconds. If a reversal keeps the STAN of its original, only
 * DE7 distinguishes its attempts from each other and from the original, so no two of them have the same value. A
 * void may be requested within the second of its sale, and a switch may answer the sale in the form of a reversal.
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
