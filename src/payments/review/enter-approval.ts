import { ERROR_CODES } from '../decisions/decide-outcome.ts';
import { webhookJobs } from '../decisions/webhook-job.ts';
import { Disposition } from '../model/disposition.ts';
import type { Link } from '../model/link.ts';
import { Status, type StatusId } from '../model/status.ts';
import { NO_RESULT, type Transaction, TransactionType } from '../model/transaction.ts';
import type { NewAttempt } from '../ports/store-ports.ts';
import type { TransactionDependencies } from '../ports/transaction-dependencies.ts';
import { restingAttempt } from '../taps/attempts.ts';
import { NO_SUBMISSION, WITHOUT_PIN } from '../taps/draft.ts';
import { NO_FACTS } from '../taps/read-tap.ts';

/** A sale in the books of a switch that the database lacks, with the merchant and terminal that the operator has found. */
export interface MissingSale {
  readonly acquirerId: number;
  readonly integratorId: number;
  readonly merchantId: string;
  /** Of the merchant. */
  readonly timeZone: string;
  /** The reference of the merchant's order if the merchant has named it. A repeat of the order is then refused. */
  readonly reference: string | undefined;
  /** The link or intent that has the reference, which the sale has paid. */
  readonly link: Pick<Link, 'id' | 'type'> | undefined;
  readonly xTid: string;
  readonly tid: string;
  readonly mid: string;
  readonly routeId: number;
  readonly switchRevision: number | null;
  readonly stan: string;
  readonly rrn: string;
  readonly currency: string;
  readonly amountMinor: number;
  readonly approvedAtMs: number;
}

/** It was sent, its response is lost, and no phone waits for it. */
const PATH: readonly StatusId[] = [1, 3, 4, 5, 9];

/**
 * The transaction of a sale that only the switch has: Indeterminate and in review. What becomes of it is decided like that of
 * any other (reviews.ts), by two persons if the installation requires it: approved, so that the merchant sees it, or
 * voided after the acquirer has reversed it. It has no card data, so the gateway can neither reverse nor refund it.
 */
export function enterMissingSale(
  deps: Pick<TransactionDependencies, 'directory' | 'newId'>,
  sale: MissingSale,
  nowMs: number,
): NewAttempt {
  const id = deps.newId();
  const { reference = id, approvedAtMs, timeZone, link, ...facts } = sale;
  const { FailedToRespondToPhone: status } = Status;
  const transaction: Transaction = {
    ...NO_FACTS,
    ...NO_SUBMISSION,
    ...NO_RESULT,
    ...WITHOUT_PIN,
    ...facts,
    id,
    merchantReference: reference,
    deviceInstallationId: '',
    userClaim: null,
    userId: null,
    consumerId: link?.id ?? null,
    correlationId: null,
    attempt: 1,
    status,
    type: link?.type ?? TransactionType.Tap,
    originalId: null,
    fingerprint: null,
    panHash: null,
    sealedCard: null,
    sentAtMs: approvedAtMs,
    disposition: Disposition.Indeterminate,
    errorCode: ERROR_CODES.indeterminate,
    providerReference: sale.rrn,
    needsReview: true,
    reversalAttempt: 0,
    reversalArmedAtMs: null,
    refundedMinor: 0,
    voidState: null,
    earlierAttempts: null,
    createdAtMs: approvedAtMs,
    updatedAtMs: nowMs,
  };
  const enqueue = webhookJobs(deps, transaction, transaction, nowMs);
  return { ...restingAttempt(transaction, PATH, nowMs), timeZone, enqueue };
}
