import { Forbidden } from '../errors.ts';
import { listChipTags } from './chip-tags.ts';
import type { MerchantRecord, Principal, TapRequest } from './ports.ts';
import { NO_FACTS } from './read-tap.ts';
import { NO_RESULT } from './settle-outcome.ts';
import { Status } from './status.ts';
import { type Submission, type Transaction, TransactionType } from './transaction.ts';
import type { World } from './world.ts';

export const NO_SUBMISSION: Submission = {
  routeId: null,
  tid: null,
  mid: null,
  stan: null,
  rrn: null,
  sentAtMs: null,
  deadlineSeconds: null,
  overdueJob: null,
};

/** A tap as it is before anything was read of it: who submits it, for whom, from which device. */
export interface Draft {
  readonly merchant: MerchantRecord;
  readonly transaction: Transaction;
}

/**
 * Begins a transaction for a principal whose token was verified.
 *
 * @throws Forbidden for a blocked user or device
 */
export function draftTap(world: World, principal: Principal, request: TapRequest): Draft {
  const { directory } = world;
  const merchant = directory.merchant(principal.acquirerId, principal.merchantId);
  if (!merchant) throw new Forbidden('FORBIDDEN');
  if (directory.isBlockedDevice(principal.acquirerId, request.deviceInstallationId))
    throw new Forbidden('BLOCKED_DEVICE');
  const user =
    principal.userClaim === null ? undefined : directory.userId(principal.acquirerId, merchant.id, principal.userClaim);
  if (user?.isBlocked) throw new Forbidden('BLOCKED_USER');
  const nowMs = world.clock.nowMs();
  const transaction: Transaction = {
    ...NO_FACTS,
    ...NO_SUBMISSION,
    ...NO_RESULT,
    acquirerId: merchant.acquirerId,
    id: world.newId(),
    integratorId: merchant.integratorId,
    merchantId: merchant.id,
    merchantReference: request.merchantReference,
    deviceInstallationId: request.deviceInstallationId,
    userClaim: principal.userClaim,
    userId: user?.id ?? null,
    xTid: principal.xTid,
    consumerId: null,
    attempt: 1,
    status: Status.RequestReceived,
    type: TransactionType.Tap,
    originalId: null,
    fingerprint: world.cardData.fingerprint(request),
    panHash: null,
    sealedCard: null,
    reversalAttempt: 0,
    refundedMinor: 0,
    voidState: null,
    earlierAttempts: null,
    createdAtMs: nowMs,
    updatedAtMs: nowMs,
  };
  return { merchant, transaction };
}

/** The next attempt of a transaction of which nothing reached a switch: its id and birth, this request's everything else. */
export function nextAttempt(draft: Draft, before: Transaction): Draft {
  const detail = {
    tags: listChipTags(before.chipTags),
    maskedPAN: before.maskedPan ?? '',
    paymentProviderId: before.routeId,
  };
  const { id, attempt, createdAtMs, earlierAttempts } = before;
  return {
    merchant: draft.merchant,
    transaction: {
      ...draft.transaction,
      id,
      createdAtMs,
      attempt: attempt + 1,
      earlierAttempts: [...(earlierAttempts ?? []), detail],
    },
  };
}
