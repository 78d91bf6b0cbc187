import type { WebhookType } from '#schemas/webhook';
import { formatMoment } from '../processor-kit/iso-moment.ts';
import { Disposition, type DispositionId, dispositionName } from './disposition.ts';
import type { JobRequest } from './jobs.ts';
import type { Settlement } from './settle-outcome.ts';
import { type Result, type Transaction, TransactionType, type TransactionTypeId, toldMinor } from './transaction.ts';
import type { World } from './world.ts';

/**
 * The jobs to commit with an outcome so that the integrator is told of it: one, or none when nobody wants to be told. A
 * PIN step leaves the disposition open, and so holds the event until it ends.
 *
 * The event itself is written by its job: the outcome's commit, for which a phone waits, carries no more than this.
 */
export function webhookJobs(
  world: Pick<World, 'directory' | 'newId'>,
  transaction: Transaction,
  { disposition, approvedMinor }: Pick<Result, 'disposition' | 'approvedMinor'>,
  nowMs: number,
): JobRequest[] {
  const type = disposition === null ? undefined : webhookTypeOf(transaction.type, disposition);
  if (disposition === null || type === undefined) return [];
  const { acquirerId, integratorId, id: transactionId, consumerId, attempt, currency } = transaction;
  const endpointId = world.directory.webhookEndpoint(acquirerId, integratorId, consumerId === null ? 'taps' : 'links');
  if (endpointId === undefined) return [];
  const outcome = {
    transactionId,
    type,
    disposition: dispositionName(disposition),
    sequence: sequenceOf(attempt, disposition),
    at: formatMoment(nowMs),
    // A later attempt may be of another amount, and may be committed before the event is written.
    amountMinor: toldMinor({ ...transaction, approvedMinor }) ?? 0,
    currency: currency ?? '',
  };
  return [
    { queue: 'webhook', data: { acquirerId, eventId: world.newId(), endpointId, round: 1, delivery: 1, outcome } },
  ];
}

/** A settlement with its webhook. */
export function withWebhook(
  world: Pick<World, 'directory' | 'newId'>,
  transaction: Transaction,
  settlement: Settlement,
  nowMs: number,
): Settlement {
  const enqueue = [...settlement.enqueue, ...webhookJobs(world, transaction, settlement.result, nowMs)];
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
