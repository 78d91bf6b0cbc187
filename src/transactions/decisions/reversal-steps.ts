import type { ProcessorProfile, ReversalProfile } from '../../processor-kit/profile.ts';
import type { ReversalEntry } from '../model/audit-entry.ts';
import type { JobRequest } from '../model/jobs.ts';
import { REPEAT_AFTER_DEADLINE_SECONDS } from '../model/time-limits.ts';
import { ReversalState, type ReversalStateId, type Transaction } from '../model/transaction.ts';
import type { ReversalStep, SentReversal } from '../ports/reversal-ports.ts';

/**
 * What a reversal goes through. Pure: each function gives a step, the caller commits it, guarded by the state and the attempt
 * it was decided from.
 *
 * A reversal is **owed** from the moment an outcome became uncertain, a void was asked for, or an approval followed a decline.
 * An attempt is committed as **sent**, together with the job of the next one, before its bytes leave; if it turns out that
 * none left, it is taken back and does not count. No attempt leaves before the deadline of the one before it. The switch's
 * acknowledgement, of whichever attempt and however late, makes the reversal **acknowledged** and the transaction Voided, and
 * removes that job (reversal-answers.ts).
 *
 * An acknowledgement can leave a doubt: the switch could not locate the original, or it came on another connection than the
 * original's, which it may have overtaken. Then the reversal is **confirming**: one more repeat, a minute later, must be
 * acknowledged too. Until then the transaction stays Indeterminate, which is what it is.
 *
 * A late approval proves that the switch booked the original, and maybe after the reversal. If an attempt had left by
 * then, the reversal is **owed** again from whatever state, and an acknowledgement of an attempt that left before counts no
 * more. The disposition stays: Voided is what it will be. An approval after a decline makes a reversal owed, too; the
 * transaction stays Declined, which is what everybody was told, and needs review.
 *
 * When the profile's time is over, a person must look: **needsReview**. What waits for a line is still sent then. A reversal
 * that cannot be built, because its card data or their key are gone, needs review at once (review-unsendable.ts), and so does
 * a void that the switch refuses although an earlier attempt may have taken effect.
 *
 * Owed, sent and confirming have a live job at all times.
 */

/**
 * What may follow what, as the audit trail tells it. A reversal begins owed, without an entry that says so; after `unsent` it
 * is what it was before that attempt.
 */
export const REVERSAL_MOVES: Readonly<Record<ReversalEntry['reversal'], readonly ReversalEntry['reversal'][]>> = {
  owed: ['sent', 'confirming', 'acknowledged', 'needsReview'],
  sent: ['sent', 'unsent', 'confirming', 'acknowledged', 'refused', 'needsReview', 'owed'],
  unsent: ['sent', 'unsent', 'confirming', 'acknowledged', 'refused', 'needsReview', 'owed'],
  confirming: ['sent', 'acknowledged', 'needsReview', 'owed'],
  acknowledged: ['owed'],
  refused: ['needsReview'],
  needsReview: ['sent', 'unsent', 'confirming', 'acknowledged', 'refused', 'owed'],
};

const OPEN: readonly ReversalStateId[] = [
  ReversalState.owed,
  ReversalState.sent,
  ReversalState.confirming,
  ReversalState.needsReview,
];

/** Whether this attempt is the next one. */
export function isDue({ reversalState, reversalAttempt }: Transaction, number: number): boolean {
  return OPEN.includes(reversalState) && reversalAttempt === number - 1;
}

/** Whether a reversal is under way: the switch may still hold what it takes back. */
export function isOpen({ reversalState }: Pick<Transaction, 'reversalState'>): boolean {
  return OPEN.includes(reversalState);
}

/** An attempt that is about to be made, and the id of the job that would repeat it. */
export interface Attempt extends Omit<SentReversal, 'counts' | 'answer' | 'confirms'> {
  readonly processorId: number;
  readonly nowMs: number;
}

/**
 * Committed before the bytes: this attempt, and when the next one is due.
 *
 * @param attempts how many there were before
 */
export function sentStep(
  transaction: Transaction,
  { nowMs, ...attempt }: Attempt,
  attempts: number,
  { reversal, deadlineMs }: Pick<ProcessorProfile, 'reversal' | 'deadlineMs'>,
): ReversalStep {
  const { number, nextJob } = attempt;
  const deadlineSeconds = deadlineMs / 1_000;
  const delaySeconds = Math.max(delayBefore(number + 1, reversal), deadlineSeconds + REPEAT_AFTER_DEADLINE_SECONDS);
  const isLast = isExhausted(transaction, reversal, nowMs + delaySeconds * 1_000);
  const confirms = transaction.reversalState === ReversalState.confirming;
  const keepsState = confirms || transaction.reversalState === ReversalState.needsReview;
  const reversalState = isLast
    ? ReversalState.needsReview
    : keepsState
      ? transaction.reversalState
      : ReversalState.sent;
  const auditEntries: ReversalEntry[] = [{ reversal: 'sent', attempt: number }];
  if (isLast) auditEntries.push({ reversal: 'needsReview', attempt: number });
  return {
    ...stepOf(transaction, nowMs, auditEntries),
    to: {
      ...resultOf(transaction),
      reversalState,
      reversalAttempt: number,
      needsReview: isLast || transaction.needsReview,
    },
    record: { kind: 'sent', ...attempt, confirms, deadlineSeconds },
    attempts,
    enqueue: isLast ? [] : [reverseJob(transaction, number + 1, delaySeconds, nextJob)],
  };
}

/**
 * No byte of the attempt left: it is as if it had not been made, and is due again. That the time for attempts is over still
 * counts: an attempt that fails like this each time must reach a person.
 */
export function unsentStep(
  before: Transaction,
  sent: Transaction,
  attempt: Pick<Attempt, 'number' | 'sentAtMs' | 'nextJob' | 'nowMs'>,
  delaySeconds: number,
  profile: Pick<ReversalProfile, 'giveUpAfterSeconds'>,
): ReversalStep {
  const { number, sentAtMs, nextJob, nowMs } = attempt;
  const review = exhaustedStep(before, profile, nowMs);
  return {
    ...stepOf(sent, nowMs, [{ reversal: 'unsent', attempt: number }, ...(review?.auditEntries ?? [])]),
    to: review?.to ?? resultOf(before),
    record: { kind: 'unsent', sentAtMs },
    enqueue: [reverseJob(before, number, delaySeconds)],
    remove: [nextJob],
  };
}

/** The time is over while no line was there to send anything; its job stays. Undefined before, and once it is known. */
export function exhaustedStep(
  transaction: Transaction,
  profile: Pick<ReversalProfile, 'giveUpAfterSeconds'>,
  nowMs: number,
): ReversalStep | undefined {
  return isExhausted(transaction, profile, nowMs) ? reviewStep(transaction, nowMs) : undefined;
}

/** A person must look; the job is left to the caller. Undefined when that is known already. */
export function reviewStep(transaction: Transaction, nowMs: number): ReversalStep | undefined {
  if (transaction.reversalState === ReversalState.needsReview) return undefined;
  return {
    ...stepOf(transaction, nowMs, [{ reversal: 'needsReview', attempt: transaction.reversalAttempt }]),
    to: { ...resultOf(transaction), reversalState: ReversalState.needsReview, needsReview: true },
  };
}

export function stepOf(
  transaction: Transaction,
  nowMs: number,
  auditEntries: ReversalStep['auditEntries'],
): Omit<ReversalStep, 'to'> {
  return { transaction, auditEntries, nowMs, enqueue: [], remove: [] };
}

export function resultOf(transaction: Transaction): ReversalStep['to'] {
  const { reversalState, reversalAttempt, disposition, needsReview, voidState } = transaction;
  return { reversalState, reversalAttempt, disposition, needsReview, voidState };
}

export function reverseJob(
  { acquirerId, id, attempt }: Transaction,
  reversalAttempt: number,
  startAfterSeconds?: number,
  jobId?: string,
): JobRequest {
  return {
    queue: 'reverse',
    data: { acquirerId, id, attempt, reversalAttempt },
    ...(startAfterSeconds !== undefined && { startAfterSeconds }),
    ...(jobId !== undefined && { id: jobId }),
  };
}

function isExhausted(
  { sentAtMs, reversalArmedAtMs }: Transaction,
  { giveUpAfterSeconds }: Pick<ReversalProfile, 'giveUpAfterSeconds'>,
  atMs: number,
): boolean {
  return atMs - (reversalArmedAtMs ?? sentAtMs ?? 0) > giveUpAfterSeconds * 1_000;
}

/** Seconds before attempt `number`; the profile's last delay repeats. */
function delayBefore(number: number, { delaysSeconds }: ReversalProfile): number {
  return delaysSeconds[Math.min(number - 2, delaysSeconds.length - 1)]!;
}
