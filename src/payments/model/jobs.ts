import type { JobPayloads, QueueName } from '#schemas/jobs';

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
