import type { JobPayloads, QueueName } from '#schemas/jobs';

/** A job to be committed together with the status that it follows from. */
export type JobRequest = {
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
