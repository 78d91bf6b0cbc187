import type { WebhookType } from '#schemas/webhook';
import { formatMoment } from '../../processor-kit/iso-moment.ts';
import { Disposition, type DispositionId, dispositionName } from '../model/disposition.ts';
import type { JobRequest } from '../model/jobs.ts';
import type { Settlement } from '../model/settlement.ts';
import {
  type Result,
  type Transaction,
  TransactionType,
  type TransactionTypeId,
  toldMinor,
} from '../model/transaction.ts';
import type { TransactionDependencies } from '../ports/transaction-dependencies.ts';

/**
 * The jobs to commit with an outcome so that the integrator is told of it: one, or none when nobody wants to be told. A
 * PIN step leaves the disposition open, and so holds the event until it ends.
 *
 * The event itself is written by its job: the outcome's commit, for which a phone waits, carries no more than this.
 */
export function webhookJobs(
  deps: Pick<TransactionDependencies, 'directory' | 'newId'>,
  transaction: Transaction,
  { disposition, approvedMinor }: Pick<Result, 'disposition' | 'approvedMinor'>,
  nowMs: number,
): JobRequest[] {
  const type = disposition === null ? undefined : webhookTypeOf(transaction.type, disposition);
  if (disposition === null || type === undefined) return [];
  const event = { type, disposition, sequence: sequenceOf(transaction.attempt, disposition) };
  return eventJobs(deps, transaction, event, toldMinor({ ...transaction, approvedMinor }), nowMs);
}

interface Event {
  readonly type: WebhookType;
  readonly disposition: DispositionId;
  readonly sequence: number;
}

function eventJobs(
  deps: Pick<TransactionDependencies, 'directory' | 'newId'>,
  { acquirerId, integratorId, id: transactionId, consumerId, currency }: Transaction,
  { type, disposition, sequence }: Event,
  amountMinor: number | null,
  nowMs: number,
): JobRequest[] {
  const endpointId = deps.directory.webhookEndpoint(acquirerId, integratorId, consumerId === null ? 'taps' : 'links');
  if (endpointId === undefined) return [];
  const outcome = {
    transactionId,
    type,
    disposition: dispositionName(disposition),
    sequence,
    at: formatMoment(nowMs),
    // A later attempt may be of another amount, and may be committed before the event is written.
    amountMinor: amountMinor ?? 0,
    currency: currency ?? '',
  };
  return [
    { queue: 'webhook', data: { acquirerId, eventId: deps.newId(), endpointId, round: 1, delivery: 1, outcome } },
  ];
}

/** What an integrator is told of a void that did not become one, and in which order it could be. */
const VOID_EVENTS = {
  needsReview: { type: 'void.needsReview', disposition: Disposition.Indeterminate, sequence: 1 },
  failed: { type: 'void.failed', disposition: Disposition.Declined, sequence: 2 },
  /** After it was told as failed, the switch acknowledged it. */
  disputed: { type: 'void.needsReview', disposition: Disposition.Indeterminate, sequence: 3 },
} as const;

/** The job that tells what became of a void. That it was done is told of its sale: `transaction.voided`. */
export function voidEventJobs(
  deps: Pick<TransactionDependencies, 'directory' | 'newId'>,
  row: Transaction,
  event: keyof typeof VOID_EVENTS,
  nowMs: number,
): JobRequest[] {
  return eventJobs(deps, row, VOID_EVENTS[event], toldMinor(row), nowMs);
}

/** A settlement with its webhook. */
export function withWebhook(
  deps: Pick<TransactionDependencies, 'directory' | 'newId'>,
  transaction: Transaction,
  settlement: Settlement,
  nowMs: number,
): Settlement {
  const enqueue = [...settlement.enqueue, ...webhookJobs(deps, transaction, settlement.result, nowMs)];
  return { ...settlement, enqueue };
}

/** The row of a void is no event of its own: what becomes Voided is its original. */
function webhookTypeOf(type: TransactionTypeId, disposition: DispositionId): WebhookType | undefined {
  if (type === TransactionType.Void) return undefined;
  if (disposition === Disposition.Voided) return 'transaction.voided';
  return type === TransactionType.Refund ? 'refund.completed' : 'transaction.completed';
}

/** Rises with every event of a transaction: an attempt has an outcome, and may be voided after it. */
function sequenceOf(attempt: number, disposition: DispositionId): number {
  return attempt * 2 - (disposition === Disposition.Voided ? 0 : 1);
}
