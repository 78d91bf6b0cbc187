import type { ReversalAnswer } from '../../processor-kit/processor.ts';
import type { ReversalProfile } from '../../processor-kit/profile.ts';
import { Disposition } from '../disposition.ts';
import type { JobRequest } from '../jobs.ts';
import type { LateFacts, ReversalStep, ReversalTold } from '../ports.ts';
import { REVERSAL_CONFIRMED_AFTER_SECONDS } from '../time-limits.ts';
import { ReversalState, type ReversalStateId, type Transaction } from '../transaction.ts';

/**
 * What a reversal goes through. Pure: each function gives a step, the caller commits it, guarded by the state and the attempt
 * it was decided from.
 *
 * A reversal is **owed** from the moment an outcome became uncertain. An attempt is committed as **sent**, together with
 * the job of the next one, before its bytes leave; if it turns out that none left, it is taken back and does not count. The
 * switch's acknowledgement makes it **acknowledged** and the transaction Voided, and removes that job.
 *
 * An acknowledgement can leave a doubt: the switch could not locate the original, or it came on another connection than the
 * original's, which it may have overtaken. Then the reversal is **confirming**: one more repeat, a minute later, must be
 * acknowledged too. Until then the transaction stays Indeterminate, which is what it is.
 *
 * A late approval proves that the switch booked the original, and maybe after the reversal. If an attempt had left by
 * then, the reversal is **owed** again from whatever state, and an acknowledgement of an attempt that left before counts no
 * more. The disposition stays: Voided is what it will be.
 *
 * When the profile's time is over, a person must look: **needsReview**. What waits for a line is still sent then. A reversal
 * that cannot be built, because its card data or their key are gone, needs review at once (review-unsendable.ts).
 *
 * Owed, sent and confirming have a live job at all times.
 */

/**
 * What may follow what, as the audit trail tells it. A reversal begins owed, without an entry that says so; after `unsent` it
 * is what it was before that attempt.
 */
export const REVERSAL_MOVES: Readonly<Record<ReversalTold['reversal'], readonly ReversalTold['reversal'][]>> = {
  owed: ['sent', 'needsReview'],
  sent: ['sent', 'unsent', 'confirming', 'acknowledged', 'refused', 'needsReview', 'owed'],
  unsent: ['sent', 'unsent', 'confirming', 'acknowledged', 'refused', 'needsReview', 'owed'],
  confirming: ['sent', 'needsReview', 'owed'],
  acknowledged: ['owed'],
  refused: [],
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

/** An attempt, and the id of the job that would repeat it. */
export interface Attempt {
  readonly number: number;
  readonly nextJob: string;
  readonly nowMs: number;
}

/** Committed before the bytes: this attempt, and when the next one is due. */
export function sentStep(transaction: Transaction, attempt: Attempt, profile: ReversalProfile): ReversalStep {
  const { number, nextJob, nowMs } = attempt;
  const delaySeconds = delayBefore(number + 1, profile);
  const isLast = isExhausted(transaction, profile, nowMs + delaySeconds * 1_000);
  const keepsState =
    transaction.reversalState === ReversalState.confirming || transaction.reversalState === ReversalState.needsReview;
  const reversalState = isLast
    ? ReversalState.needsReview
    : keepsState
      ? transaction.reversalState
      : ReversalState.sent;
  const told: ReversalTold[] = [{ reversal: 'sent', attempt: number }];
  if (isLast) told.push({ reversal: 'needsReview', attempt: number });
  return {
    ...stepOf(transaction, nowMs, told),
    to: {
      ...resultOf(transaction),
      reversalState,
      reversalAttempt: number,
      needsReview: isLast || transaction.needsReview,
    },
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
  attempt: Attempt,
  delaySeconds: number,
  profile: Pick<ReversalProfile, 'giveUpAfterSeconds'>,
): ReversalStep {
  const { number, nextJob, nowMs } = attempt;
  const review = exhaustedStep(before, profile, nowMs);
  return {
    ...stepOf(sent, nowMs, [{ reversal: 'unsent', attempt: number }, ...(review?.told ?? [])]),
    to: review?.to ?? resultOf(before),
    enqueue: [reverseJob(before, number, delaySeconds)],
    remove: [nextJob],
  };
}

/**
 * The switch has answered an attempt; undefined when that changes nothing, because the answer is no acknowledgement.
 *
 * @param before the transaction that the attempt was made for, `sent` what its commit made of it
 * @param couldOvertake whether the attempt may have come to the switch before its original
 */
export function answeredStep(
  before: Transaction,
  sent: Transaction,
  attempt: Attempt,
  answer: ReversalAnswer,
  couldOvertake: boolean,
): ReversalStep | undefined {
  if (answer === 'refused') return undefined;
  const isDoubtful = answer === 'unableToLocate' || couldOvertake;
  if (isDoubtful && before.reversalState !== ReversalState.confirming) return confirmingStep(sent, attempt);
  const { number, nextJob, nowMs } = attempt;
  return {
    ...stepOf(sent, nowMs, [{ reversal: 'acknowledged', attempt: number }]),
    to: { ...resultOf(sent), reversalState: ReversalState.acknowledged, disposition: Disposition.Voided },
    remove: [nextJob],
  };
}

function confirmingStep(sent: Transaction, { number, nextJob, nowMs }: Attempt): ReversalStep {
  return {
    ...stepOf(sent, nowMs, [{ reversal: 'confirming', attempt: number }]),
    to: { ...resultOf(sent), reversalState: ReversalState.confirming },
    enqueue: [reverseJob(sent, number + 1, REVERSAL_CONFIRMED_AFTER_SECONDS)],
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

/** What a late response does to the reversal; undefined when it goes on as it would without. */
export function rearmStep(transaction: Transaction, late: LateFacts, nowMs: number): ReversalStep | undefined {
  const { reversalState, reversalAttempt } = transaction;
  if (late.kind === 'declined' || reversalAttempt === 0 || reversalState === ReversalState.owed) return undefined;
  return {
    ...stepOf(transaction, nowMs, [{ reversal: 'owed', attempt: reversalAttempt }]),
    to: { ...resultOf(transaction), reversalState: ReversalState.owed },
    enqueue: [reverseJob(transaction, reversalAttempt + 1)],
  };
}

function stepOf(transaction: Transaction, nowMs: number, told: readonly ReversalTold[]): Omit<ReversalStep, 'to'> {
  return { transaction, told, nowMs, enqueue: [], remove: [] };
}

function resultOf({ reversalState, reversalAttempt, disposition, needsReview }: Transaction): ReversalStep['to'] {
  return { reversalState, reversalAttempt, disposition, needsReview };
}

function reverseJob(
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
  { sentAtMs }: Transaction,
  { giveUpAfterSeconds }: Pick<ReversalProfile, 'giveUpAfterSeconds'>,
  atMs: number,
): boolean {
  return atMs - (sentAtMs ?? 0) > giveUpAfterSeconds * 1_000;
}

/** Seconds before attempt `number`; the profile's last delay repeats. */
function delayBefore(number: number, { delaysSeconds }: ReversalProfile): number {
  return delaysSeconds[Math.min(number - 2, delaysSeconds.length - 1)]!;
}
