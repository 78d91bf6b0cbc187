import type { ReversalResponse } from '../../kits/processor-kit/processor.ts';
import { Disposition } from '../model/disposition.ts';
import { REVERSAL_CONFIRMED_AFTER_SECONDS } from '../model/time-limits.ts';
import { ReversalState, type Transaction, VoidState } from '../model/transaction.ts';
import type { OriginalFacts, ReversalStep, SentReversal } from '../ports/store-ports.ts';
import { isOpen, resultOf, reverseJob, stepOf } from './reversal-steps.ts';

/**
 * What the responses to a reversal mean together. The functions are pure, like those of reversal-steps.ts.
 *
 * A switch may respond to an attempt after its deadline, on another connection, to another worker, or more than once.
 * Each response is therefore weighed together with those to the other attempts of the same reversal:
 *
 * - An acknowledgement of any attempt counts at any time, unless the original was approved after that attempt was
 *   sent.
 * - "Duplicate" acknowledges a repeat only if the gateway never received the response to an earlier attempt with the
 *   same STAN, and this STAN is not that of the original. Of an attempt that was sent once, of one with a fresh STAN, or
 *   after another "duplicate", it shows that the switch compares other fields than the gateway thinks, and may have
 *   taken the reversal for that of another transaction. With the STAN of the original, it may have taken the reversal
 *   for the original itself, which stands. Then no attempt follows, the transaction stays open, and a person must
 *   resolve it.
 * - A refusal ends only a void, and only if every attempt of the void was refused explicitly, at least twice. An
 *   attempt without a response, or one during which the switch was in trouble, may have taken effect, and the next
 *   attempts are then refused for that reason. In this case the void needs review, and the sale stays blocked.
 * - If what identifies the switch has changed since the original, a switch that cannot locate it proves nothing, not even
 *   that a void is refused: the other switch may have booked it. The reversal needs review.
 * - A response that contradicts an earlier one to the same attempt counts if it has the greater weight: see
 *   `WEIGHTS`.
 */

/** A response to one attempt of the reversal of a request. */
export interface ReversalResponded {
  /** The request as stored. */
  readonly transaction: Transaction;
  readonly facts: Pick<OriginalFacts, 'attempts' | 'wasApprovedLate' | 'wasSwitchChanged'>;
  /** Identifies the attempt. */
  readonly sentAtMs: number;
  readonly response: ReversalResponse;
  readonly nowMs: number;
}

/**
 * Of two responses to one attempt, the one with the greater weight counts: first an acknowledgement, then the one
 * that leaves more doubt.
 */
const WEIGHTS: Readonly<Record<ReversalResponse, number>> = {
  refused: 1,
  unableToLocate: 2,
  undecided: 3,
  duplicate: 4,
  acknowledged: 5,
};

/** The effect of a response on the reversal; undefined if the response contains nothing new. */
export function stepOfResponse(responded: ReversalResponded): ReversalStep | undefined {
  const { transaction, facts, sentAtMs, response, nowMs } = responded;
  const attempt = facts.attempts.find((each) => each.sentAtMs === sentAtMs);
  if (!attempt || (attempt.response !== null && WEIGHTS[attempt.response] >= WEIGHTS[response])) return undefined;
  const attempts = facts.attempts.map((each) => (each === attempt ? { ...each, response } : each));
  const weighed: Weighed = { transaction, attempt, attempts, facts, nowMs };
  const step = effectOf(weighed, meaningOf(response, weighed));
  return {
    ...(step ?? {
      ...stepOf(transaction, nowMs, [{ reversalResponse: response, attempt: attempt.number }]),
      to: resultOf(transaction),
    }),
    record: { kind: 'responded', sentAtMs, response },
    attempts: attempts.length,
  };
}

interface Weighed extends Pick<ReversalResponded, 'transaction' | 'facts' | 'nowMs'> {
  readonly attempt: SentReversal;
  /** Includes the new response. */
  readonly attempts: readonly SentReversal[];
}

const REFUSALS: readonly (ReversalResponse | null)[] = ['refused', 'unableToLocate'];

function meaningOf(response: ReversalResponse, { transaction, attempt, attempts }: Weighed): ReversalResponse {
  if (response !== 'duplicate') return response;
  if (attempt.stan === transaction.stan) return 'duplicate';
  const others = attempts.filter((each) => each.counts && each.sentAtMs !== attempt.sentAtMs);
  const isRepeat = others.some(
    (each) => each.sentAtMs < attempt.sentAtMs && each.stan === attempt.stan && each.response === null,
  );
  return isRepeat && !others.some((each) => each.response === 'duplicate') ? 'acknowledged' : 'duplicate';
}

/** Undefined if the response does not change the course of the reversal. */
function effectOf(weighed: Weighed, meaning: ReversalResponse): ReversalStep | undefined {
  const { transaction, attempt } = weighed;
  const { voidState } = transaction;
  // Any attempt counts: one that was sent before a late approval may have taken effect after it.
  if (meaning === 'acknowledged' && wasRefused(transaction)) return disputedStep(weighed);
  if (contradictsResolution(transaction, meaning)) return contradictedStep(weighed, meaning);
  if (!attempt.counts) return undefined;
  if (meaning === 'duplicate') return duplicateStep(weighed);
  if (!isOpen(transaction) || voidState === VoidState.disputed) return undefined;
  if (meaning === 'unableToLocate' && weighed.facts.wasSwitchChanged) return reviewStepOf(weighed);
  if (REFUSALS.includes(meaning) && voidState === VoidState.asked) return refusalStep(weighed);
  if (meaning === 'acknowledged' || meaning === 'unableToLocate') return acknowledgementStep(weighed, meaning);
  return undefined;
}

/** Whether the switch made a reversal of a sale that a person found to stand, or refuses that of one found voided. */
function contradictsResolution({ reversalState, disposition }: Transaction, meaning: ReversalResponse): boolean {
  const contrary = disposition === Disposition.Approved ? 'acknowledged' : 'refused';
  return reversalState === ReversalState.resolved && meaning === contrary;
}

/** The transaction stays as it was reported until a person has looked again. */
function contradictedStep({ transaction, attempt, nowMs }: Weighed, meaning: ReversalResponse): ReversalStep {
  return {
    ...stepOf(transaction, nowMs, [{ reversalResponse: meaning, attempt: attempt.number }]),
    to: { ...resultOf(transaction), needsReview: true },
  };
}

/**
 * A reversal is not over because of a "duplicate" that proves nothing. If an earlier one has ended it, the disposition
 * stays as it was reported, and a person must look.
 */
function duplicateStep(weighed: Weighed): ReversalStep | undefined {
  const { transaction, attempt, attempts, nowMs } = weighed;
  const { reversalState, needsReview } = transaction;
  if (isOpen(transaction)) return reviewStepOf(weighed);
  const isAcknowledged = attempts.some(({ response }) => response === 'acknowledged' || response === 'unableToLocate');
  if (reversalState !== ReversalState.acknowledged || isAcknowledged || needsReview) return undefined;
  return {
    ...stepOf(transaction, nowMs, [{ reversalResponse: 'duplicate', attempt: attempt.number }]),
    to: { ...resultOf(transaction), needsReview: true },
  };
}

/** Whether the switch has finally refused the void of this sale and no new void was requested. */
function wasRefused({ reversalState, disposition, voidState }: Transaction): boolean {
  return reversalState === ReversalState.none && disposition === Disposition.Approved && voidState === null;
}

function acknowledgementStep(weighed: Weighed, meaning: ReversalResponse): ReversalStep | undefined {
  const { transaction, attempt, facts, nowMs } = weighed;
  const isDoubtful = meaning === 'unableToLocate' || attempt.couldOvertake;
  if (isDoubtful && !attempt.confirms) {
    return transaction.reversalState === ReversalState.confirming ? undefined : confirmingStep(weighed);
  }
  const { disposition, needsReview, voidState } = transaction;
  // The switch cannot locate what it has approved, so a person must ask the acquirer about it.
  const isStrange = meaning === 'unableToLocate' && facts.wasApprovedLate;
  return {
    ...stepOf(transaction, nowMs, [{ reversal: 'acknowledged', attempt: attempt.number }]),
    to: {
      ...resultOf(transaction),
      reversalState: ReversalState.acknowledged,
      // A transaction that was reported as Declined stays Declined.
      disposition: disposition === Disposition.Declined ? disposition : Disposition.Voided,
      needsReview: needsReview || isStrange,
      voidState: voidState === VoidState.asked ? VoidState.done : voidState,
    },
    remove: nextJobs(weighed),
  };
}

function confirmingStep(weighed: Weighed): ReversalStep {
  const { transaction, attempt, nowMs } = weighed;
  return {
    ...stepOf(transaction, nowMs, [{ reversal: 'confirming', attempt: attempt.number }]),
    to: { ...resultOf(transaction), reversalState: ReversalState.confirming },
    enqueue: [reverseJob(transaction, transaction.reversalAttempt + 1, REVERSAL_CONFIRMED_AFTER_SECONDS)],
    remove: nextJobs(weighed),
  };
}

/**
 * A void ends when all of its attempts were refused. A void needs review if it was refused twice but may have taken
 * effect before.
 */
function refusalStep(weighed: Weighed): ReversalStep | undefined {
  const { transaction, attempt, nowMs } = weighed;
  const attempts = attemptsOfVoid(weighed);
  if (!attempts.some(({ sentAtMs }) => sentAtMs === attempt.sentAtMs)) return undefined;
  const lastTwo = attempts.slice(-2);
  if (lastTwo.length < 2 || !lastTwo.every((each) => each.counts && isRefused(each))) return undefined;
  // An attempt that left no record may have taken effect as well.
  if (attempts.length === transaction.reversalAttempt && attempts.every(isRefused)) {
    return {
      ...stepOf(transaction, nowMs, [{ reversal: 'refused', attempt: attempt.number }]),
      to: { ...resultOf(transaction), reversalState: ReversalState.none, reversalAttempt: 0, voidState: null },
      remove: nextJobs(weighed),
    };
  }
  return reviewStepOf(weighed);
}

/** No further attempt is sent. */
function reviewStepOf(weighed: Weighed): ReversalStep | undefined {
  const { transaction, attempt, nowMs } = weighed;
  if (transaction.reversalState === ReversalState.needsReview) return undefined;
  return {
    ...stepOf(transaction, nowMs, [{ reversal: 'needsReview', attempt: attempt.number }]),
    to: { ...resultOf(transaction), reversalState: ReversalState.needsReview, needsReview: true },
    remove: nextJobs(weighed),
  };
}

/**
 * The switch finally refused the void and now acknowledges it. No money is returned until a person has asked the
 * acquirer.
 */
function disputedStep({ transaction, attempt, nowMs }: Weighed): ReversalStep {
  return {
    ...stepOf(transaction, nowMs, [{ reversal: 'needsReview', attempt: attempt.number }]),
    to: {
      ...resultOf(transaction),
      reversalState: ReversalState.needsReview,
      needsReview: true,
      voidState: VoidState.disputed,
    },
  };
}

/**
 * All attempts since the void was requested. One before a late approval may have taken effect, although its
 * acknowledgement no longer counts.
 */
function attemptsOfVoid({ transaction, attempts }: Weighed): readonly SentReversal[] {
  if (transaction.reversalAttempt === 0) return []; // all recorded attempts belong to an earlier void
  const first = attempts.findLastIndex(({ number }) => number === 1);
  return attempts.slice(Math.max(first, 0));
}

function isRefused({ response }: SentReversal): boolean {
  return REFUSALS.includes(response);
}

function nextJobs({ attempts }: Weighed): string[] {
  return attempts.slice(-1).map(({ nextJob }) => nextJob);
}
