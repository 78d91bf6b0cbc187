import type { ProcessorProfile, ReversalProfile } from '../../kits/processor-kit/profile.ts';
import type { JobRequest, ReversalEntry } from '../model/decision.ts';
import { REPEAT_AFTER_DEADLINE_SECONDS } from '../model/time-limits.ts';
import { OPEN_REVERSAL_STATES, ReversalState, type Transaction } from '../model/transaction.ts';
import type { ReversalStep, SentReversal } from '../ports/store-ports.ts';

/**
 * A reversal passes through these states. The functions are pure: each returns a step, and the caller commits it,
 * guarded by the state and the attempt that it was decided from.
 *
 * A reversal is **owed** from the moment when an outcome becomes uncertain, a void is requested, or an approval
 * follows a decline. An attempt is committed as **sent**, together with the job of the next one, before its bytes
 * are sent. If it turns out that no byte was sent, the attempt is removed and does not count. No attempt is sent
 * before the deadline of the one before it. The acknowledgement of the switch makes the reversal **acknowledged**
 * and the transaction Voided, and removes that job (reversal-responses.ts). It counts for any attempt, however late.
 *
 * An acknowledgement can leave a doubt: the switch could not locate the original, or the reversal used another
 * connection than the original and may have overtaken it. Then the reversal is **confirming**: one more repeat, a
 * minute later, must be acknowledged too. Until then the transaction stays Indeterminate, because its outcome is
 * uncertain.
 *
 * A late approval proves that the switch booked the original, possibly after the reversal. If an attempt was sent by
 * then, the reversal is **owed** again from any state, and an acknowledgement of an attempt that was sent before no
 * longer counts. The disposition does not change: Voided is the result that the next acknowledgement confirms. An
 * approval after a decline also makes a reversal owed. The transaction stays Declined, because that was reported,
 * and needs review.
 *
 * When the profile's time is over, a person must resolve the transaction: **needsReview**. A reversal that waits for
 * a connection is still sent after that. A reversal that cannot be built, because its card data or their key no
 * longer exist, needs review at once (record-reversal-response.ts). So does a void that the switch refuses although an
 * earlier attempt may have taken effect.
 *
 * When a person has compared the transaction with the switch's books, it is **resolved** (resolve-review.ts). No further
 * attempt is sent. A late approval or acknowledgement that contradicts the resolution does not change it, and makes the
 * transaction need review again. The audit trail records a resolution as an entry of its own, not as a step of the
 * reversal, so the chart does not contain it.
 *
 * Owed, sent and confirming always have a live job.
 */

/**
 * The allowed transitions as the audit trail records them. A reversal begins owed, without an entry for it. After
 * `unsent`, the reversal is again in the state that it had before that attempt.
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

/** Whether this attempt is the next one. */
export function isDue({ reversalState, reversalAttempt }: Transaction, number: number): boolean {
  return OPEN_REVERSAL_STATES.includes(reversalState) && reversalAttempt === number - 1;
}

/** Whether a reversal is in progress: the switch may still hold the amount that the reversal cancels. */
export function isOpen({ reversalState }: Pick<Transaction, 'reversalState'>): boolean {
  return OPEN_REVERSAL_STATES.includes(reversalState);
}

/** An attempt that is about to be sent, and the id of the job that would repeat it. */
export interface Attempt extends Omit<SentReversal, 'counts' | 'response' | 'confirms'> {
  readonly processorId: number;
  readonly nowMs: number;
}

/**
 * Committed before the bytes are sent: this attempt, and when the next one is due.
 *
 * @param attempts number of attempts before this one
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
 * No byte of the attempt was sent: it does not count and is due again. The time limit for attempts still applies,
 * because an attempt that fails like this every time must reach a person.
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

/**
 * The time is over and no connection was available to send anything; the job stays. Undefined before the limit, and
 * if the review is already recorded.
 */
export function exhaustedStep(
  transaction: Transaction,
  profile: Pick<ReversalProfile, 'giveUpAfterSeconds'>,
  nowMs: number,
): ReversalStep | undefined {
  return isExhausted(transaction, profile, nowMs) ? reviewStep(transaction, nowMs) : undefined;
}

/** A person must resolve the transaction; the caller handles the job. Undefined if the review is already recorded. */
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

/** Seconds before attempt `number`; the last delay of the profile repeats. */
function delayBefore(number: number, { delaysSeconds }: ReversalProfile): number {
  return delaysSeconds[Math.min(number - 2, delaysSeconds.length - 1)]!;
}

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
