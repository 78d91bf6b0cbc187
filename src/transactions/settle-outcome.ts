import type { Outcome } from '../processor-kit/processor.ts';
import { Disposition } from './disposition.ts';
import type { JobRequest } from './jobs.ts';
import { type Move, moves, Status, type StatusId } from './status.ts';
import { type ProviderValues, type Result, ReversalState, type Transaction } from './transaction.ts';

/** What may happen to a transaction that was on its way to a switch. */
export type SwitchEvent =
  /** A matched, well-formed response. */
  | { readonly kind: 'answered'; readonly outcome: Outcome; readonly providerFields: ProviderValues }
  /** At least one byte was handed to the socket, and no usable response came. */
  | { readonly kind: 'unanswered' }
  /** A response came that cannot be used: it does not decode, or its MAC is bad. */
  | { readonly kind: 'garbled' }
  /** It is certain that no byte was written, and no other processor is left. */
  | { readonly kind: 'unsent' };

/** A decision: the result to commit, the moves that lead there, and the jobs to commit with them. */
export interface Settlement {
  readonly status: StatusId;
  readonly moves: readonly Move[];
  readonly result: Result;
  readonly enqueue: readonly JobRequest[];
}

/** `errorCode` of 2.12 by what happened (contract, "Answers of 4.4 and 4.5"). */
export const ERROR_CODES = {
  declinedOffline: 2,
  pinRequired: 65,
  indeterminate: 203,
  declined: 209,
  unableToGoOnline: 210,
} as const;

export const NO_RESULT: Result = {
  disposition: null,
  responseCode: null,
  authorizationCode: null,
  approvedMinor: null,
  cardTags: null,
  cardType: null,
  providerReference: null,
  providerFields: null,
  errorCode: null,
  reversalState: ReversalState.none,
  needsReview: false,
};

/**
 * Decides what an event means for a transaction. Pure: the caller commits the settlement, guarded by the status it was
 * decided from, or drops it when somebody else was faster.
 *
 * A reversal is owed if and only if bytes may have been written and no definitive response was accepted (states,
 * "Reversal"): so `unanswered`, `garbled` and an unknown outcome owe one, `unsent` does not.
 */
export function settleOutcome(transaction: Transaction, event: SwitchEvent, nowMs: number): Settlement {
  switch (event.kind) {
    case 'answered':
      return settleAnswer(transaction, event, nowMs);
    case 'unanswered':
      return indeterminate(transaction, Status.NoResponseFromPaymentProcessor, null, nowMs);
    case 'garbled':
      return indeterminate(transaction, Status.BadResponseFromPaymentProcessor, null, nowMs);
    case 'unsent':
      return unableToGoOnline(transaction, nowMs);
  }
}

function settleAnswer(
  transaction: Transaction,
  { outcome, providerFields }: Extract<SwitchEvent, { kind: 'answered' }>,
  nowMs: number,
): Settlement {
  if (outcome.kind === 'unknown') {
    return indeterminate(transaction, Status.BadResponseFromPaymentProcessor, outcome.responseCode || null, nowMs);
  }
  const isApproved = outcome.kind === 'approved';
  const declinedAs = outcome.kind === 'pinRequired' ? ERROR_CODES.pinRequired : ERROR_CODES.declined;
  return settled(transaction, Status.ResponseReceivedFromPaymentProcessor, nowMs, {
    ...NO_RESULT,
    disposition: isApproved ? Disposition.Approved : Disposition.Declined,
    responseCode: outcome.responseCode,
    authorizationCode: outcome.authorizationCode ?? null,
    approvedMinor: isApproved ? outcome.approvedMinor : null,
    cardTags: outcome.cardTags,
    cardType: outcome.cardType ?? null,
    providerReference: outcome.rrn ?? transaction.rrn,
    providerFields,
    errorCode: isApproved ? null : declinedAs,
    needsReview: outcome.kind === 'declined' && outcome.needsReview === true,
  });
}

function indeterminate(
  transaction: Transaction,
  status: StatusId,
  responseCode: string | null,
  nowMs: number,
): Settlement {
  const result: Result = {
    ...NO_RESULT,
    disposition: Disposition.Indeterminate,
    responseCode,
    providerReference: transaction.rrn,
    errorCode: ERROR_CODES.indeterminate,
    reversalState: ReversalState.owed,
  };
  const { acquirerId, id, attempt } = transaction;
  return settled(transaction, status, nowMs, result, [
    { queue: 'reverse', data: { acquirerId, id, attempt, reversalAttempt: 1 } },
  ]);
}

/** The status goes back to 3: that nothing was submitted is what it says. The live `overdue` job lets it rest. */
function unableToGoOnline(transaction: Transaction, nowMs: number): Settlement {
  const result: Result = {
    ...NO_RESULT,
    disposition: Disposition.UnableToGoOnline,
    errorCode: ERROR_CODES.unableToGoOnline,
  };
  return settled(transaction, Status.ReadyToSubmitToPaymentProcessor, nowMs, result);
}

function settled(
  transaction: Transaction,
  status: StatusId,
  nowMs: number,
  result: Result,
  enqueue: readonly JobRequest[] = [],
): Settlement {
  const path = status === transaction.status ? [] : [status];
  return { status, moves: moves(transaction.status, path, nowMs), result, enqueue };
}
