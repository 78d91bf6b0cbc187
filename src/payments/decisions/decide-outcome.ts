import assert from 'node:assert/strict';
import { nearestDate } from '../../kits/processor-kit/field-values.ts';
import type { Outcome, OutcomeFacts } from '../../kits/processor-kit/processor.ts';
import type { Decision, JobRequest } from '../model/decision.ts';
import { Disposition } from '../model/disposition.ts';
import { isAwaitingPin, PinState, type PinStep } from '../model/pin.ts';
import { moves, Status, type StatusId } from '../model/status.ts';
import { PIN_EXPIRY_AFTER_SECONDS } from '../model/time-limits.ts';
import { NO_RESULT, type ProviderValues, type Result, ReversalState, type Transaction } from '../model/transaction.ts';
import { judgePin, PIN_TRIES_EXCEEDED, type PinVerdict, type PinWait, pinEntries } from './pin-step.ts';

/** The events that can happen to a transaction that was submitted to a switch. */
export type SwitchEvent =
  /** A matched, well-formed response. `pinWait` describes how to await a PIN; null if none can be taken. */
  | {
      readonly kind: 'responded';
      readonly outcome: Outcome;
      /** DE15, MMDD; undefined if the switch sends none. */
      readonly settlementDate?: string | undefined;
      readonly providerFields: ProviderValues;
      readonly pinWait: PinWait | null;
    }
  /** At least one byte was handed to the socket, and no usable response arrived. */
  | { readonly kind: 'noResponse' }
  /** A response arrived that cannot be used: it does not decode, or its MAC is wrong. */
  | { readonly kind: 'garbled' }
  /** It is certain that no byte was written, and no other processor is left to try. */
  | { readonly kind: 'unsent' }
  /** The database was restored, and the commit of the outcome may be among those that it lacks (after-restore.ts). */
  | { readonly kind: 'lost' }
  /**
   * The HSM cannot open the PIN block. Nothing was written, and the PIN counts as wrong, as if the issuer had
   * refused it.
   */
  | { readonly kind: 'pinUnusable'; readonly pinWait: PinWait | null };
/** `errorCode` of 2.12 for each event (contract, "Responses of 4.4 and 4.5"). */
export const ERROR_CODES = {
  declinedOffline: 2,
  pinRequired: 65,
  indeterminate: 203,
  declined: 209,
  unableToGoOnline: 210,
  invalidPin: 211,
} as const;

/**
 * Decides what an event means for a transaction. The function is pure. The caller commits the decision, guarded by
 * the status that it was decided from, or drops it if another process was faster.
 *
 * A reversal is required if and only if bytes may have been written and no definitive response was accepted (states,
 * "Reversal"). `noResponse`, `garbled` and an unknown outcome therefore require one; `unsent` does not, and `lost`
 * leaves it to a person. A decline that asks for a PIN leaves the outcome open while the PIN is awaited.
 */
export function decideOutcome(transaction: Transaction, event: SwitchEvent, nowMs: number): Decision {
  switch (event.kind) {
    case 'responded':
      return decideResponse(transaction, event, nowMs);
    case 'noResponse':
      return indeterminate(transaction, Status.NoResponseFromPaymentProcessor, null, nowMs);
    case 'garbled':
      return indeterminate(transaction, Status.BadResponseFromPaymentProcessor, null, nowMs);
    case 'unsent':
      return unableToGoOnline(transaction, nowMs);
    case 'lost':
      return lost(transaction, nowMs);
    case 'pinUnusable':
      return unusablePin(transaction, event.pinWait, nowMs);
  }
}

function decideResponse(
  transaction: Transaction,
  { outcome, settlementDate, providerFields, pinWait }: Extract<SwitchEvent, { kind: 'responded' }>,
  nowMs: number,
): Decision {
  if (outcome.kind === 'unknown') {
    return indeterminate(transaction, Status.BadResponseFromPaymentProcessor, outcome, nowMs);
  }
  const isApproved = outcome.kind === 'approved';
  const result: Result = {
    ...NO_RESULT,
    disposition: isApproved ? Disposition.Approved : Disposition.Declined,
    responseCode: outcome.responseCode,
    authorizationCode: outcome.authorizationCode ?? null,
    settlementDate: dateOf(settlementDate, transaction),
    approvedMinor: isApproved ? outcome.approvedMinor : null,
    cardTags: outcome.cardTags,
    cardType: outcome.cardType ?? null,
    providerReference: outcome.rrn ?? transaction.rrn,
    providerFields,
    errorCode: isApproved ? null : declineCodeOf(transaction, outcome),
    needsReview: outcome.kind === 'declined' && outcome.needsReview === true,
  };
  const pin = { verdict: pinVerdictOf(outcome), wait: pinWait };
  return createDecision(transaction, Status.ResponseReceivedFromPaymentProcessor, nowMs, { result, pin });
}

function dateOf(settlementDate: string | undefined, { sentAtMs }: Transaction): string | null {
  return (settlementDate && sentAtMs !== null && nearestDate(settlementDate, sentAtMs)) || null;
}

const WRONG_PIN = '55';

function declineCodeOf({ pinState }: PinStep, { kind, responseCode }: Outcome): number {
  if (kind !== 'pinRequired') return ERROR_CODES.declined;
  const wasWrong = pinState === PinState.submitted && responseCode === WRONG_PIN;
  return wasWrong ? ERROR_CODES.invalidPin : ERROR_CODES.pinRequired;
}

function pinVerdictOf({ kind, responseCode }: Outcome): PinVerdict {
  if (kind === 'pinRequired') return 'wanted';
  return kind === 'declined' && PIN_TRIES_EXCEEDED.includes(responseCode) ? 'triesExceeded' : 'final';
}

function indeterminate(
  transaction: Transaction,
  status: StatusId,
  response: OutcomeFacts | null,
  nowMs: number,
): Decision {
  const result: Result = {
    ...NO_RESULT,
    disposition: Disposition.Indeterminate,
    responseCode: response?.responseCode || null,
    unusableAuthorizationCode: response?.authorizationCode ?? null,
    providerReference: transaction.rrn,
    errorCode: ERROR_CODES.indeterminate,
    reversalState: ReversalState.owed,
  };
  const { acquirerId, id, attempt } = transaction;
  const enqueue: JobRequest[] = [{ queue: 'reverse', data: { acquirerId, id, attempt, reversalAttempt: 1 } }];
  return createDecision(transaction, status, nowMs, { result, enqueue });
}

/**
 * Nothing is sent, and nothing is reversed: the outcome may have been reported, and a reversal would cancel a sale that the
 * merchant relies on. A person resolves the transaction by the books of the switch.
 */
function lost(transaction: Transaction, nowMs: number): Decision {
  const wasSubmitted = transaction.status === Status.SubmittedToPaymentProcessor;
  const result: Result = {
    ...NO_RESULT,
    disposition: Disposition.Indeterminate,
    providerReference: transaction.rrn,
    errorCode: ERROR_CODES.indeterminate,
    needsReview: true,
  };
  const status = wasSubmitted ? Status.NoResponseFromPaymentProcessor : Status.ReadyToSubmitToPaymentProcessor;
  return createDecision(transaction, status, nowMs, { result });
}

/** The status returns to 3, which states that nothing was submitted. A worker then finds the attempt overdue and lets it rest. */
function unableToGoOnline(transaction: Transaction, nowMs: number): Decision {
  const result: Result = {
    ...NO_RESULT,
    disposition: Disposition.UnableToGoOnline,
    errorCode: ERROR_CODES.unableToGoOnline,
  };
  return createDecision(transaction, Status.ReadyToSubmitToPaymentProcessor, nowMs, { result });
}

function unusablePin(transaction: Transaction, wait: PinWait | null, nowMs: number): Decision {
  const result: Result = { ...NO_RESULT, disposition: Disposition.Declined, errorCode: ERROR_CODES.invalidPin };
  const pin = { verdict: 'wanted', wait } as const;
  return createDecision(transaction, Status.ReadyToSubmitToPaymentProcessor, nowMs, { result, pin });
}

interface Decided {
  readonly result: Result;
  readonly pin?: { readonly verdict: PinVerdict; readonly wait: PinWait | null };
  readonly enqueue?: readonly JobRequest[];
}

const NO_PIN_WANTED = { verdict: 'final', wait: null } as const;

function createDecision(
  transaction: Transaction,
  status: StatusId,
  nowMs: number,
  { result, pin: { verdict, wait } = NO_PIN_WANTED, enqueue = [] }: Decided,
): Decision {
  const { disposition, reversalState, needsReview } = result;
  const isReversed = reversalState === ReversalState.owed;
  const isUncertain = disposition === Disposition.Indeterminate;
  assert(isUncertain || !isReversed, 'only an uncertain outcome is reversed');
  assert(!isUncertain || isReversed || needsReview, 'an uncertain outcome is reversed, or a person decides');
  const isOfSwitch = status === Status.ResponseReceivedFromPaymentProcessor;
  assert(isOfSwitch || disposition !== Disposition.Approved, 'only a response of the switch approves');
  const path = status === transaction.status ? [] : [status];
  const pin = judgePin(transaction, verdict, wait);
  const auditEntries = [...moves(transaction.status, path, nowMs), ...pinEntries(transaction, pin, nowMs)];
  if (!isAwaitingPin(pin) || !wait) return { status, auditEntries, result, pin, pinSeconds: null, enqueue };
  return {
    status,
    auditEntries,
    result: { ...result, disposition: null },
    pin,
    pinSeconds: wait.seconds,
    enqueue: [...enqueue, expiryJob(transaction, wait)],
  };
}

/** Committed with the request for a PIN: ends the wait if nothing else does. */
function expiryJob({ acquirerId, id, attempt }: Transaction, { job, seconds }: PinWait): JobRequest {
  const startAfterSeconds = seconds + PIN_EXPIRY_AFTER_SECONDS;
  return { queue: 'expire-pin', id: job, data: { acquirerId, id, attempt }, startAfterSeconds };
}
