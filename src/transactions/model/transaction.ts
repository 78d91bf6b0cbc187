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

/** What is still to be done about an uncertain transaction at the switch (see reversal-steps.ts). */
export const ReversalState = { none: 0, owed: 1, sent: 2, acknowledged: 3, needsReview: 4, confirming: 5 } as const;
export type ReversalStateId = (typeof ReversalState)[keyof typeof ReversalState];

/**
 * Whether an approved transaction is to be voided; null while nobody asked, and again when the switch refused. `disputed`: the
 * switch has refused the void for good and acknowledged it as well, so a person must ask what it did.
 */
export const VoidState = { asked: 1, done: 2, disputed: 3 } as const;
export type VoidStateId = (typeof VoidState)[keyof typeof VoidState];

/** A tag and its value, upper-case hex. Never one of the sensitive tags. */
export interface TagValue {
  readonly tag: string;
  readonly value: string;
}

/** Values of a processor that integrators reconcile with, by its own names (2.6). Never card data. */
export type ProviderValues = Readonly<Record<string, string>>;

/** What 2.1 shows of an attempt in `details`. */
export interface AttemptDetail {
  readonly tags: readonly TagValue[];
  readonly maskedPAN: string;
  readonly paymentProviderId: number | null;
}

/** Names a transaction in a job, a message or a log line; the tenant is part of the name. */
export interface TransactionKey {
  readonly acquirerId: number;
  readonly id: string;
}

/** What the reader told about the tap, as far as it may be kept in clear. */
export interface TapFacts {
  readonly amountMinor: number | null;
  readonly currency: string | null;
  readonly readerId: string | null;
  readonly readerTransactionId: string | null;
  readonly latitude: string | null;
  readonly longitude: string | null;
  readonly scheme: string | null;
  readonly maskedPan: string | null;
  /** TLV of what may be kept in clear: see chip-tags.ts. */
  readonly chipTags: Uint8Array | null;
}

/** Who submitted it, and as whom. */
export interface Submitter {
  readonly integratorId: number;
  readonly merchantId: string;
  readonly merchantReference: string;
  readonly deviceInstallationId: string;
  /** The `usr` claim as given, and our user when it names one. */
  readonly userClaim: string | null;
  readonly userId: string | null;
  readonly xTid: string | null;
  /** The link or intent that asked for it (2.8, 2.9); null for taps of the SDK alone. */
  readonly consumerId: string | null;
  /** Of the HTTP request that began the attempt: joins log lines and webhooks with it. Null where no request had one. */
  readonly correlationId: string | null;
}

/** The attempt's way to a switch, null before there is one. */
export interface Submission {
  readonly routeId: number | null;
  readonly tid: string | null;
  readonly mid: string | null;
  readonly stan: string | null;
  readonly rrn: string | null;
  readonly sentAtMs: number | null;
  /** Seconds the switch has from the commit on; the database adds them to its own clock. */
  readonly deadlineSeconds: number | null;
  readonly overdueJob: string | null;
}

/** What the switch, or its silence, made of it. */
export interface Result {
  readonly disposition: DispositionId | null;
  readonly responseCode: string | null;
  readonly authorizationCode: string | null;
  /** DE38 of a response that approved but could not be used: for the reversal alone. */
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

/** One purchase, refund or void: the row that everything else speaks of. */
export interface Transaction extends TransactionKey, Submitter, TapFacts, Submission, Result, PinStep {
  readonly attempt: number;
  readonly status: StatusId;
  readonly type: TransactionTypeId;
  readonly originalId: string | null;
  /** HMAC over both blobs: tells a repeated request from another one under the same reference. */
  readonly fingerprint: string | null;
  /** The same over the request that brought this attempt's PIN. */
  readonly pinFingerprint: string | null;
  /** Until when a PIN is awaited, by the database's clock; null while the row is being decided. */
  readonly pinExpiresAtMs: number | null;
  readonly panHash: string | null;
  /** PAN, expiry and what a reversal repeats, encrypted. */
  readonly sealedCard: Uint8Array | null;
  readonly reversalAttempt: number;
  /** When a reversal was asked for after the request itself: by a void, or by an approval that came late. */
  readonly reversalArmedAtMs: number | null;
  /** Given back by refunds, or reserved for them. */
  readonly refundedMinor: number;
  readonly voidState: VoidStateId | null;
  readonly earlierAttempts: readonly AttemptDetail[] | null;
  readonly createdAtMs: number;
  readonly updatedAtMs: number;
}

/** The amount that everybody is told: what was approved, else what was asked for. A mandate takes no money, and keeps its own. */
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
