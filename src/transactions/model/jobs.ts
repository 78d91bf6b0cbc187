import type { JobPayloads, QueueName } from '#schemas/jobs';

/** A job to be committed together with the status it follows from. */
export type JobRequest = {
  [Queue in QueueName]: {
    readonly queue: Queue;
    readonly data: JobPayloads[Queue];
    /** Given when somebody will name the job again: to delete it in the commit that makes it needless. */
    readonly id?: string;
    /** Not before so many seconds after the commit, by the database's clock. */
    readonly startAfterSeconds?: number;
  };
}[QueueName];
