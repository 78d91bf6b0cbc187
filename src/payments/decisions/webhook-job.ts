import type { WebhookType } from '#schemas/webhook';
import { formatMoment } from '../../kits/processor-kit/field-values.ts';
import type { Decision, JobRequest } from '../model/decision.ts';
import { Disposition, type DispositionId, dispositionName } from '../model/disposition.ts';
import {
  type Result,
  type Transaction,
  TransactionType,
  type TransactionTypeId,
  toldMinor,
} from '../model/transaction.ts';
import type { Directory } from '../ports/directory-ports.ts';
import type { PromptWebhooks } from '../ports/transaction-dependencies.ts';

export interface EventPorts {
  readonly directory: Pick<Directory, 'webhookEndpoint'>;
  readonly newId: () => string;
}

/**
 * The jobs to commit with an outcome that notify the integrator: one, or none if the outcome has no event. A PIN step
 * leaves the disposition open, and so delays the event until the step ends. If this process knows no endpoint, the
 * commit decides whether there is one.
 *
 * The job writes the event itself. A phone waits for the commit of the outcome, so that commit contains only the
 * job.
 *
 * @param sequence sequence number of the event, for an event about a resolution; the one about an outcome has its own
 */
export function webhookJobs(
  ports: EventPorts,
  transaction: Transaction,
  { disposition, approvedMinor }: Pick<Result, 'disposition' | 'approvedMinor'>,
  nowMs: number,
  sequence = disposition === null ? 0 : sequenceOf(transaction.attempt, disposition),
): JobRequest[] {
  const type = disposition === null ? undefined : webhookTypeOf(transaction.type, disposition);
  if (disposition === null || type === undefined) return [];
  const event = { type, disposition, sequence };
  return eventJobs(ports, transaction, event, toldMinor({ ...transaction, approvedMinor }), nowMs);
}

interface Event {
  readonly type: WebhookType;
  readonly disposition: DispositionId;
  readonly sequence: number;
}

function eventJobs(
  ports: EventPorts,
  { acquirerId, integratorId, id: transactionId, consumerId, currency }: Transaction,
  { type, disposition, sequence }: Event,
  amountMinor: number | null,
  nowMs: number,
): JobRequest[] {
  const serves = consumerId === null ? 'taps' : 'links';
  const endpointId = ports.directory.webhookEndpoint(acquirerId, integratorId, serves);
  const outcome = {
    transactionId,
    type,
    disposition: dispositionName(disposition),
    sequence,
    at: formatMoment(nowMs),
    // A later attempt may have another amount, and may be committed before the event is written.
    amountMinor: amountMinor ?? 0,
    currency: currency ?? '',
  };
  const first = { acquirerId, eventId: ports.newId(), round: 1, delivery: 1, outcome };
  if (endpointId !== undefined) return [{ queue: 'webhook', data: { ...first, endpointId } }];
  return [{ queue: 'webhook', data: first, endpointOf: { integratorId, serves } }];
}

/** The events for a void that was not carried out, and their order. */
const VOID_EVENTS = {
  needsReview: { type: 'void.needsReview', disposition: Disposition.Indeterminate, sequence: 1 },
  failed: { type: 'void.failed', disposition: Disposition.Declined, sequence: 2 },
  /** The switch acknowledged the void after it was reported as failed. */
  disputed: { type: 'void.needsReview', disposition: Disposition.Indeterminate, sequence: 3 },
  /** A person found that the sale stands nevertheless. */
  upheld: { type: 'void.failed', disposition: Disposition.Declined, sequence: 4 },
} as const;

/**
 * The jobs that report the outcome of a void. A completed void is reported as an event of its sale:
 * `transaction.voided`.
 */
export function voidEventJobs(
  ports: EventPorts,
  row: Transaction,
  event: keyof typeof VOID_EVENTS,
  nowMs: number,
): JobRequest[] {
  return eventJobs(ports, row, VOID_EVENTS[event], toldMinor(row), nowMs);
}

/** Adds the webhook jobs to a decision. */
export function withWebhook(ports: EventPorts, transaction: Transaction, decision: Decision, nowMs: number): Decision {
  const enqueue = [...decision.enqueue, ...webhookJobs(ports, transaction, decision.result, nowMs)];
  return { ...decision, enqueue };
}

/**
 * Delays the jobs of events that this process delivers itself as soon as the decision is committed. The commit must find
 * the endpoint of an event that has none as far as this process knows, so that event is left to its job.
 */
export function withLease(
  { newId, promptWebhooks }: Pick<EventPorts, 'newId'> & { readonly promptWebhooks?: PromptWebhooks | undefined },
  decision: Decision,
): Decision {
  if (!promptWebhooks) return decision;
  const { leaseSeconds: startAfterSeconds } = promptWebhooks;
  const enqueue = decision.enqueue.map((job) =>
    job.queue === 'webhook' && !('endpointOf' in job) ? { ...job, id: newId(), startAfterSeconds } : job,
  );
  return { ...decision, enqueue };
}

/** The row of a void has no event of its own, because its original becomes Voided. */
function webhookTypeOf(type: TransactionTypeId, disposition: DispositionId): WebhookType | undefined {
  if (type === TransactionType.Void) return undefined;
  const isVoided = disposition === Disposition.Voided;
  if (type === TransactionType.Refund) return isVoided ? 'refund.voided' : 'refund.completed';
  return isVoided ? 'transaction.voided' : 'transaction.completed';
}

/** Increases with every event of a transaction: an attempt has an outcome, and may be voided after it. */
function sequenceOf(attempt: number, disposition: DispositionId): number {
  return attempt * 2 - (disposition === Disposition.Voided ? 0 : 1);
}
