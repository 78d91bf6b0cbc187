import type { DispositionId } from './disposition.ts';
import type { PinStep } from './pin.ts';
import type { StatusId } from './status.ts';

/** `transactionTypeId` (contract, "Numeric ids"). */
export const TransactionType = { Tap: 1, TT3: 2, SecureCardReader: 3, Refund: 4, Void: 5 } as const;
export type TransactionTypeId = (typeof TransactionType)[keyof typeof TransactionType];
export const TRANSACTION_TYPE_NAMES: Readonly<Record<TransactionTypeId, string>> = {
  1: 'Tap',
  2: 'TT3',
  3: 'Secure card reader',
  4: 'Refund',
  5: 'Void',
};

/**
 * What remains to be done at the switch for an uncertain transaction (see reversal-steps.ts). `resolved`: a person has
 * compared the transaction with the switch's books (see resolve-review.ts), and nothing further is sent.
 */
export const ReversalState = {
  none: 0,
  owed: 1,
  sent: 2,
  acknowledged: 3,
  needsReview: 4,
  confirming: 5,
  resolved: 6,
} as const;
export type ReversalStateId = (typeof ReversalState)[keyof typeof ReversalState];

/** A worker continues the reversal: its next attempt has a job. */
export const RUNNING_REVERSAL_STATES: readonly ReversalStateId[] = [
  ReversalState.owed,
  ReversalState.sent,
  ReversalState.confirming,
];
/** The switch may still hold what the reversal cancels. Partial indexes of the database contain these states. */
export const OPEN_REVERSAL_STATES: readonly ReversalStateId[] = [...RUNNING_REVERSAL_STATES, ReversalState.needsReview];

/**
 * Whether an approved transaction is being voided; null if no void was requested, and again after the switch refused
 * one. `disputed`: the switch has both finally refused and acknowledged the void, so a person must ask what it did.
 */
export const VoidState = { asked: 1, done: 2, disputed: 3 } as const;
export type VoidStateId = (typeof VoidState)[keyof typeof VoidState];

/** A tag and its value in upper-case hex. Never one of the sensitive tags. */
export interface TagValue {
  readonly tag: string;
  readonly value: string;
}

/**
 * Values of a processor that integrators use for reconciliation, under the processor's own names (2.6). Never card
 * data.
 */
export type ProviderValues = Readonly<Record<string, string>>;

/** What 2.1 shows of an attempt in `details`. */
export interface AttemptDetail {
  readonly tags: readonly TagValue[];
  readonly maskedPAN: string;
  readonly paymentProviderId: number | null;
}

/** Identifies a transaction in a job, a message or a log line; the tenant is part of the key. */
export interface TransactionKey {
  readonly acquirerId: number;
  readonly id: string;
}

/** Data from the reader about the tap that may be stored in clear. */
export interface TapFacts {
  readonly amountMinor: number | null;
  readonly currency: string | null;
  readonly readerId: string | null;
  readonly readerTransactionId: string | null;
  readonly latitude: string | null;
  readonly longitude: string | null;
  readonly scheme: string | null;
  readonly maskedPan: string | null;
  /** TLV of the tags that may be stored in clear: see read-tap.ts. */
  readonly chipTags: Uint8Array | null;
}

/** Who submitted the transaction, and under which identity. */
interface Submitter {
  readonly integratorId: number;
  readonly merchantId: string;
  readonly merchantReference: string;
  readonly deviceInstallationId: string;
  /** The `usr` claim as received, and the id of the known user if the claim names one. */
  readonly userClaim: string | null;
  readonly userId: string | null;
  readonly xTid: string | null;
  /** The link or intent that requested the payment (2.8, 2.9); null for taps of the SDK alone. */
  readonly consumerId: string | null;
  /**
   * Correlation id of the HTTP request that began the attempt, which joins log lines and webhooks with it; null if
   * no request had one.
   */
  readonly correlationId: string | null;
}

/** How the attempt was submitted to a switch; null before it was. */
export interface Submission {
  readonly routeId: number | null;
  /** The switch behind the processor of the route at that time (switch-revision.ts); null for the first one. */
  readonly switchRevision: number | null;
  readonly tid: string | null;
  readonly mid: string | null;
  readonly stan: string | null;
  readonly rrn: string | null;
  readonly sentAtMs: number | null;
  /** Seconds that the switch has from the commit on; the database adds them to its own clock. */
  readonly deadlineSeconds: number | null;
}

/** The result of the switch response, or of the missing response. */
export interface Result {
  readonly disposition: DispositionId | null;
  readonly responseCode: string | null;
  readonly authorizationCode: string | null;
  /** DE38 of a response that approved but could not be used; only the reversal uses it. */
  readonly unusableAuthorizationCode: string | null;
  /** DE15 of the accepted response, `2026-11-20`; null when the switch sent none. */
  readonly settlementDate: string | null;
  readonly approvedMinor: number | null;
  readonly cardTags: readonly TagValue[] | null;
  readonly cardType: string | null;
  readonly providerReference: string | null;
  readonly providerFields: ProviderValues | null;
  readonly errorCode: number | null;
  readonly reversalState: ReversalStateId;
  readonly needsReview: boolean;
}

/** The row of one purchase, refund or void. */
export interface Transaction extends TransactionKey, Submitter, TapFacts, Submission, Result, PinStep {
  readonly attempt: number;
  readonly status: StatusId;
  readonly type: TransactionTypeId;
  readonly originalId: string | null;
  /** HMAC over both blobs: distinguishes a repeated request from a different one with the same reference. */
  readonly fingerprint: string | null;
  /** The same HMAC over the request that brought the PIN of this attempt. */
  readonly pinFingerprint: string | null;
  /** When the wait for a PIN ends, by the clock of the database; null while the row is being decided. */
  readonly pinExpiresAtMs: number | null;
  readonly panHash: string | null;
  /** PAN, expiry date and the values that a reversal repeats, encrypted. */
  readonly sealedCard: Uint8Array | null;
  readonly reversalAttempt: number;
  /** When a reversal was requested after the request itself: by a void, or because of a late approval. */
  readonly reversalArmedAtMs: number | null;
  /** Amount refunded, or reserved for refunds. */
  readonly refundedMinor: number;
  readonly voidState: VoidStateId | null;
  readonly earlierAttempts: readonly AttemptDetail[] | null;
  readonly createdAtMs: number;
  readonly updatedAtMs: number;
}

/**
 * The amount to report: the approved amount, else the requested one. A mandate takes no money and keeps its own
 * amount.
 */
export function toldMinor({
  type,
  approvedMinor,
  amountMinor,
}: Pick<Transaction, 'type' | 'approvedMinor' | 'amountMinor'>): number | null {
  return type === TransactionType.TT3 ? amountMinor : (approvedMinor ?? amountMinor);
}

export const NO_RESULT: Result = {
  disposition: null,
  responseCode: null,
  authorizationCode: null,
  unusableAuthorizationCode: null,
  settlementDate: null,
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
 * The properties that 2.1 and 2.2 show. A list reads only these of each row, because most of the cost of a page is
 * in its values.
 */
export const SHOWN_PROPERTIES = [
  'acquirerId',
  'id',
  'merchantId',
  'merchantReference',
  'createdAtMs',
  'updatedAtMs',
  'status',
  'disposition',
  'type',
  'originalId',
  'amountMinor',
  'approvedMinor',
  'currency',
  'userClaim',
  'userId',
  'deviceInstallationId',
  'latitude',
  'longitude',
  'scheme',
  'maskedPan',
  'sealedCard',
  'chipTags',
  'tid',
  'routeId',
  'responseCode',
  'authorizationCode',
  'earlierAttempts',
] as const satisfies readonly (keyof Transaction)[];

export type ShownTransaction = Pick<Transaction, (typeof SHOWN_PROPERTIES)[number]>;
