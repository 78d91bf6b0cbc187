import { RequestRejected } from '../../basics/errors.ts';
import type { JobRequest, SwitchBooks } from '../model/decision.ts';
import { Disposition, type DispositionId } from '../model/disposition.ts';
import { MUST_NOT_REST } from '../model/status.ts';
import {
  ReversalState,
  RUNNING_REVERSAL_STATES,
  type Transaction,
  TransactionType,
  VoidState,
  type VoidStateId,
} from '../model/transaction.ts';
import type { ResolutionStep, ReviewFacts } from '../ports/store-ports.ts';
import { type EventPorts, voidEventJobs, webhookJobs } from './webhook-job.ts';

/**
 * A transaction that needs review is resolved by a person who states what the switch's books say. The functions are
 * pure: the caller commits the step, guarded by the state that it follows. No step sends a message to a switch.
 *
 * - **voided**: no amount stands. An uncertain request, a sale with an open or refused void, and an approval that was
 *   never completed become Voided.
 * - **approved**: the amount stands. An uncertain request becomes Approved for its full amount, and a void that was
 *   open has failed.
 * - **adjusted**: the books differed, and the acquirer has corrected them to agree with what the gateway reports. An
 *   uncertain request and a sale with an open void become Voided; every other disposition stays.
 *
 * A disposition that was reported as final does not change to Approved: the merchant has not handed over the goods.
 *
 * A reversal is **resolved** afterwards. A job that still waits finds no open reversal, and a later response of the switch
 * that contradicts only makes the transaction need review again (late-responses.ts, reversal-responses.ts). What a
 * review blocks until then is in model/review.ts. A transaction that was resolved as declined or voided releases its
 * link.
 *
 * A request that the switch approved in part, although it asked for all, cannot be resolved as approved: the gateway
 * would record an amount that was not taken. A sale that was accepted as approved in part keeps that part.
 *
 * A switch that requires completions does not post an approval that was reversed or uncertain, and no completion follows.
 * Such a request cannot be resolved as approved.
 */

/** A transaction that a person wants to resolve. */
export interface ReviewCase {
  readonly transaction: Transaction;
  /** The row of the last void of a sale. */
  readonly voidRow: Transaction | undefined;
  readonly facts: ReviewFacts;
}

function isInReview({ transaction, facts }: ReviewCase): boolean {
  return transaction.needsReview || facts.isVoidInReview;
}

/** @throws RequestRejected if the transaction cannot be resolved now */
export function refuseUnlessResolvable(review: ReviewCase): void {
  const { transaction, facts } = review;
  const { type, disposition, status, reversalState } = transaction;
  if (type === TransactionType.Void) throw new RequestRejected('RESOLUTION_OF_VOID');
  if (!isInReview(review)) throw new RequestRejected('NOT_IN_REVIEW');
  if (disposition === null || MUST_NOT_REST.includes(status)) throw new RequestRejected('NO_OUTCOME_YET');
  const isRunning = RUNNING_REVERSAL_STATES.includes(reversalState) || facts.isEarlierReversalRunning;
  if (isRunning || facts.isUnderWay) throw new RequestRejected('REVERSAL_IN_PROGRESS');
  const balanceMinor = transaction.approvedMinor ?? transaction.amountMinor ?? 0;
  if (type !== TransactionType.Refund && transaction.refundedMinor > balanceMinor)
    throw new RequestRejected('RESOLUTION_HAS_REFUNDS');
}

/** @throws RequestRejected if the transaction cannot be resolved now, or not in this way */
export function decideResolution(
  ports: EventPorts,
  review: ReviewCase,
  books: SwitchBooks,
  nowMs: number,
): ResolutionStep {
  refuseUnlessResolvable(review);
  const { transaction, voidRow, facts } = review;
  const { disposition, voidState, fate } = outcomeOf(review, books);
  const isNews = disposition !== transaction.disposition;
  // If there was no reversal, the question was about an earlier attempt or a completion: everything else goes on. But an
  // approval after a decline would begin a reversal, which could return money that the acquirer has returned.
  const hasReversal = isNews || transaction.reversalState !== ReversalState.none;
  const isOver = hasReversal || disposition === Disposition.Declined;
  const reversalState = isOver ? ReversalState.resolved : ReversalState.none;
  const to = { ...resultOf(transaction, disposition), voidState, reversalState };
  const sequence = facts.lastSequence === null ? transaction.attempt * 2 : facts.lastSequence + 1;
  const enqueue: JobRequest[] = isNews
    ? webhookJobs(ports, transaction, { disposition, approvedMinor: to.approvedMinor }, nowMs, sequence)
    : [];
  if (voidRow && (fate === 'failed' || fate === 'upheld')) enqueue.push(...voidEventJobs(ports, voidRow, fate, nowMs));
  return {
    transaction,
    to,
    voidRow: voidRow && fate ? { id: voidRow.id, disposition: fate === 'done' ? APPROVED : DECLINED } : undefined,
    entry: { resolution: books, at: new Date(nowMs).toISOString() },
    enqueue,
    eventSequence: isNews ? sequence : null,
  };
}

const APPROVED = Disposition.Approved;
const DECLINED = Disposition.Declined;

interface ResolvedOutcome {
  readonly disposition: DispositionId;
  readonly voidState: VoidStateId | null;
  /** What becomes of the void's row: done, failed, or failed as was reported before. */
  readonly fate?: 'done' | 'failed' | 'upheld' | 'known';
}

function outcomeOf(review: ReviewCase, books: SwitchBooks): ResolvedOutcome {
  const { transaction } = review;
  const { voidState } = transaction;
  const disposition = transaction.disposition!;
  const isReversed = disposition === Disposition.Indeterminate || voidState !== null;
  if (isReversed && books === 'approved' && review.facts.needsCompletion)
    throw new RequestRejected('RESOLUTION_NOT_COMPLETED');
  if (disposition === Disposition.Indeterminate && books === 'approved' && review.facts.wasApprovedInPart)
    throw new RequestRejected('RESOLUTION_APPROVED_IN_PART');
  if (disposition === Disposition.Indeterminate) {
    return { disposition: books === 'approved' ? Disposition.Approved : Disposition.Voided, voidState };
  }
  if (disposition === Disposition.Approved) return outcomeOfApproved(review, books);
  if (books === 'approved') throw new RequestRejected('RESOLUTION_CONTRADICTS_OUTCOME');
  return { disposition, voidState };
}

function outcomeOfApproved({ transaction, voidRow, facts }: ReviewCase, books: SwitchBooks): ResolvedOutcome {
  const { disposition, voidState, refundedMinor } = transaction;
  const isOfVoid = voidState !== null || (voidRow?.needsReview ?? false);
  const isVoided = books === 'voided' || (books === 'adjusted' && voidState === VoidState.asked);
  if (isVoided && refundedMinor > 0) throw new RequestRejected('RESOLUTION_HAS_REFUNDS');
  // The question is about an earlier attempt, not about the approval.
  if (isVoided && !isOfVoid && facts.isEarlierReversalInReview)
    throw new RequestRejected('RESOLUTION_CONTRADICTS_OUTCOME');
  if (isVoided && isOfVoid) return { disposition: Disposition.Voided, voidState: VoidState.done, fate: 'done' };
  if (isVoided) return { disposition: Disposition.Voided, voidState };
  if (!isOfVoid) return { disposition: disposition!, voidState };
  const fate = voidState === VoidState.asked ? 'failed' : voidState === VoidState.disputed ? 'upheld' : 'known';
  return { disposition: disposition!, voidState: null, fate };
}

/** The fields of the result that a resolution determines. */
function resultOf(transaction: Transaction, disposition: DispositionId) {
  const { type, amountMinor, approvedMinor, responseCode, authorizationCode, errorCode } = transaction;
  const isNowApproved = disposition === Disposition.Approved && transaction.disposition !== Disposition.Approved;
  if (!isNowApproved) return { disposition, approvedMinor, responseCode, authorizationCode, errorCode };
  return {
    disposition,
    // A mandate takes no money.
    approvedMinor: type === TransactionType.TT3 ? 0 : amountMinor,
    // That of a response that could not be used.
    responseCode: null,
    authorizationCode: transaction.unusableAuthorizationCode,
    errorCode: null,
  };
}
