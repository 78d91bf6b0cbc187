import type { JobPayloads, QueueName } from '#schemas/jobs';
import type { ReversalResponse } from '../../kits/processor-kit/processor.ts';
import type { PinEntry, PinStep } from './pin.ts';
import type { Move, StatusId } from './status.ts';
import type { Result } from './transaction.ts';

/** A decision: the result to commit, the transitions that lead to it, and the jobs to commit with them. */
export interface Decision {
  readonly status: StatusId;
  readonly auditEntries: readonly AuditEntry[];
  readonly result: Result;
  readonly pin: PinStep;
  /** How long the phone has to submit a PIN, from the commit on; null if no PIN is awaited. */
  readonly pinSeconds: number | null;
  readonly enqueue: readonly JobRequest[];
}

/**
 * The origin of the events that an endpoint serves: taps of the SDK, or links and intents. An endpoint of one kind
 * never receives events of the other.
 */
export type WebhookOrigin = 'taps' | 'links';

/** A job to be committed together with the status that it follows from. */
export type JobRequest = StorableJob | UnaddressedEvent;

/**
 * The first job of an event for an integrator that has no endpoint as far as this process knows. Another process may
 * have registered one meanwhile. The commit finds it, or drops the job.
 */
export interface UnaddressedEvent extends Omit<Extract<StorableJob, { readonly queue: 'webhook' }>, 'data'> {
  readonly data: Omit<JobPayloads['webhook'], 'endpointId'>;
  readonly endpointOf: { readonly integratorId: number; readonly serves: WebhookOrigin };
}

/** A job with everything that the job table stores. */
export type StorableJob = {
  [Queue in QueueName]: {
    readonly queue: Queue;
    readonly data: JobPayloads[Queue];
    /** Set if a later commit deletes the job because the job has become unnecessary. */
    readonly id?: string;
    /** The job starts no earlier than this many seconds after the commit, by the clock of the database. */
    readonly startAfterSeconds?: number;
    /** `<acquirer> <processor>`: left to a process that is signed on to this processor, while there is one. */
    readonly group?: string;
  };
}[QueueName];

/**
 * What the switch's books say about a transaction that needs review. `voided`: no amount stands. `approved`: the amount
 * stands. `adjusted`: the books differed, and were corrected to agree with what the gateway reports.
 */
export const SWITCH_BOOKS = ['voided', 'approved', 'adjusted'] as const;
export type SwitchBooks = (typeof SWITCH_BOOKS)[number];

/** What a reversal step records in the audit trail: the new state, or that an attempt turned out not to be written. */
export interface ReversalEntry {
  readonly reversal: 'owed' | 'sent' | 'unsent' | 'confirming' | 'acknowledged' | 'refused' | 'needsReview';
  readonly attempt: number;
}

/** A response to an attempt that does not change the state of the reversal. */
export interface ReversalResponseEntry {
  readonly reversalResponse: ReversalResponse;
  readonly attempt: number;
}

/** What a late response reports. A request for a PIN counts as a decline by then. */
export interface LateFacts {
  readonly kind: 'approved' | 'declined' | 'unknown';
  readonly responseCode: string;
  readonly authorizationCode: string;
  /** Absent unless it approves. */
  readonly approvedMinor?: number;
}

/**
 * One entry of the audit trail: a transition of the status or of the PIN step, a completion, a void, a reversal
 * step, or a late response.
 */
export type AuditEntry =
  | Move
  | PinEntry
  | (ReversalEntry & { readonly at: string })
  | (ReversalResponseEntry & { readonly at: string })
  /** An approval whose completion no switch accepted. */
  | { readonly completion: 'givenUp'; readonly at: string }
  /** A void was requested: the id of its row. The reversal that follows belongs to the void. */
  | { readonly void: string; readonly at: string }
  /** A person resolved the transaction by the switch's books. The admin events name the person and the reason. */
  | { readonly resolution: SwitchBooks; readonly at: string }
  | { readonly late: LateFacts['kind']; readonly responseCode: string; readonly at: string };
