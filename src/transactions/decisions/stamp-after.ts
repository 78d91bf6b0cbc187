import type { Transaction } from '../model/transaction.ts';
import type { SentReversal } from '../ports/reversal-ports.ts';

/**
 * The time of an attempt, as its DE7 has it: in whole seconds. Where a reversal keeps the STAN of its original, DE7 alone tells
 * its attempts apart from each other and from the original, so no two of them have the same. A void may be asked for within the
 * second of its sale, and a switch may answer the sale in the form of a reversal.
 */
export function stampAfter(
  { sentAtMs }: Pick<Transaction, 'sentAtMs'>,
  attempts: readonly Pick<SentReversal, 'sentAtMs'>[],
  nowMs: number,
): number {
  const lastMs = Math.max(sentAtMs ?? 0, attempts.at(-1)?.sentAtMs ?? 0);
  return wholeSecond(Math.max(nowMs, lastMs + 1_000));
}

function wholeSecond(ms: number): number {
  return Math.floor(ms / 1_000) * 1_000;
}
