import { admit } from '../decisions/admit.ts';
import { submitPinStep } from '../decisions/pin-step.ts';
import type { Link } from '../model/link.ts';
import { NO_PIN } from '../model/pin.ts';
import { Status } from '../model/status.ts';
import {
  type AttemptDetail,
  NO_RESULT,
  type Submission,
  type Transaction,
  TransactionType,
} from '../model/transaction.ts';
import type { MerchantRecord, Principal } from '../ports/directory-ports.ts';
import type { TapRequest } from '../ports/switch-ports.ts';
import type { TransactionDependencies } from '../ports/transaction-dependencies.ts';
import { listChipTags, NO_FACTS } from './read-tap.ts';

export const NO_SUBMISSION: Submission = {
  routeId: null,
  switchRevision: null,
  tid: null,
  mid: null,
  stan: null,
  rrn: null,
  sentAtMs: null,
  deadlineSeconds: null,
};

/** The PIN columns before a PIN is requested or received. */
export const WITHOUT_PIN = { ...NO_PIN, pinFingerprint: null, pinExpiresAtMs: null } as const;

/** A tap before any of its data were read: its submitter, merchant and device. */
export interface Draft {
  readonly merchant: MerchantRecord;
  readonly transaction: Transaction;
  /** The link or intent that the tap pays. */
  readonly link?: Link | undefined;
}

/**
 * Begins a transaction for a principal whose token was verified.
 *
 * @throws Forbidden for a blocked user or device
 */
export function draftTap(deps: TransactionDependencies, principal: Principal, request: TapRequest, link?: Link): Draft {
  const { merchant, userId } = admit(deps, principal, request.deviceInstallationId);
  const nowMs = deps.clock.nowMs();
  const transaction: Transaction = {
    ...NO_FACTS,
    ...NO_SUBMISSION,
    ...NO_RESULT,
    ...WITHOUT_PIN,
    acquirerId: merchant.acquirerId,
    id: deps.newId(),
    integratorId: merchant.integratorId,
    merchantId: merchant.id,
    merchantReference: request.merchantReference,
    deviceInstallationId: request.deviceInstallationId,
    userClaim: principal.userClaim,
    userId,
    xTid: principal.xTid,
    consumerId: link?.id ?? null,
    correlationId: request.correlationId ?? null,
    attempt: 1,
    status: Status.RequestReceived,
    type: link?.type ?? TransactionType.Tap,
    originalId: null,
    fingerprint: deps.cardData.fingerprint(request),
    panHash: null,
    sealedCard: null,
    reversalAttempt: 0,
    reversalArmedAtMs: null,
    refundedMinor: 0,
    voidState: null,
    earlierAttempts: null,
    createdAtMs: nowMs,
    updatedAtMs: nowMs,
  };
  return { merchant, transaction, link };
}

/**
 * The next attempt of a transaction that reached no switch. It keeps id and creation time, and takes the rest from
 * this request.
 */
export function nextAttempt(draft: Draft, before: Transaction): Draft {
  const { id, attempt, createdAtMs } = before;
  return {
    ...draft,
    transaction: {
      ...draft.transaction,
      id,
      createdAtMs,
      attempt: attempt + 1,
      earlierAttempts: attemptsUntil(before),
    },
  };
}

/** The next attempt of a transaction whose PIN was requested: the same tap, on the same route. */
export function pinAttempt(
  merchant: MerchantRecord,
  before: Transaction,
  { pinFingerprint, correlationId }: Pick<Transaction, 'pinFingerprint' | 'correlationId'>,
  nowMs: number,
): Draft {
  return {
    merchant,
    transaction: {
      ...before,
      ...NO_SUBMISSION,
      ...NO_RESULT,
      ...submitPinStep(before),
      routeId: before.routeId,
      pinFingerprint,
      correlationId,
      pinExpiresAtMs: null,
      attempt: before.attempt + 1,
      status: Status.RequestReceived,
      earlierAttempts: attemptsUntil(before),
      updatedAtMs: nowMs,
    },
  };
}

/** A refund or a void: a transaction of its own, with the merchant, the device and the card of its sale. */
export function draftReturn(
  sale: Transaction,
  own: Pick<Transaction, 'id' | 'merchantReference' | 'correlationId' | 'type' | 'amountMinor'>,
  nowMs: number,
): Transaction {
  return {
    ...sale,
    ...NO_SUBMISSION,
    ...NO_RESULT,
    ...WITHOUT_PIN,
    ...own,
    originalId: sale.id,
    attempt: 1,
    status: Status.RequestReceived,
    fingerprint: null,
    chipTags: null,
    sealedCard: null,
    reversalAttempt: 0,
    reversalArmedAtMs: null,
    refundedMinor: 0,
    earlierAttempts: null,
    createdAtMs: nowMs,
    updatedAtMs: nowMs,
  };
}

/** The entries of `details` for the attempts before the next one. */
function attemptsUntil({ earlierAttempts, chipTags, maskedPan, routeId }: Transaction): readonly AttemptDetail[] {
  const last = { tags: listChipTags(chipTags), maskedPAN: maskedPan ?? '', paymentProviderId: routeId };
  return [...(earlierAttempts ?? []), last];
}
