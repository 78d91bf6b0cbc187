import { jobPayloads, type QueueName } from '#schemas/jobs';

/**
 * Every queue of the pipeline and how patient it is. pg-boss retries a job whose worker died or threw; schedules with
 * money in them (reversals) do not use that: their next attempt is a job of its own, committed with its start time.
 */
export interface QueuePolicy {
  /** A job that a worker holds longer than this is taken for orphaned and given to another. */
  readonly expireInSeconds: number;
  readonly retryLimit: number;
  readonly retryDelay: number;
  readonly retryBackoff: boolean;
  readonly retryDelayMax?: number;
}

/** Retries until the cause is gone: the job is what keeps a transaction from resting where it must not. */
const UNTIL_DONE = { retryLimit: 10_000, retryDelay: 1, retryBackoff: true, retryDelayMax: 60 } as const;

export const QUEUES: Readonly<Record<QueueName, QueuePolicy>> = {
  // Two tries at most fit before answer_by; `overdue` takes over then.
  authorize: { expireInSeconds: 50, retryLimit: 3, retryDelay: 1, retryBackoff: false },
  refund: { expireInSeconds: 50, retryLimit: 3, retryDelay: 1, retryBackoff: false },
  overdue: { expireInSeconds: 15, ...UNTIL_DONE },
  'expire-pin': { expireInSeconds: 15, ...UNTIL_DONE },
  'expire-link': { expireInSeconds: 15, ...UNTIL_DONE },
  // Longer than any switch's deadline, so that a repeat is not sent while the first waits for its answer.
  reverse: { expireInSeconds: 150, ...UNTIL_DONE },
  complete: { expireInSeconds: 150, ...UNTIL_DONE },
  // A batch takes seconds on a busy database; a second one beside it would do no harm.
  purge: { expireInSeconds: 300, ...UNTIL_DONE },
  // Longer than an attempt and the wait for its turn. Who takes an orphaned one over sends the event again, under its id.
  webhook: { expireInSeconds: 60, ...UNTIL_DONE },
  // Longer than an attempt; the schedule is its own, and over before a till has forgotten the payment.
  push: { expireInSeconds: 30, retryLimit: 3, retryDelay: 5, retryBackoff: false },
};

/** Queues that may hold a hundred thousand jobs have a table of their own: looking through it is nobody else's trouble. */
export const STANDS_APART: ReadonlySet<QueueName> = new Set<QueueName>(['overdue', 'webhook']);

export const QUEUE_NAMES = Object.keys(jobPayloads) as QueueName[];

/** Where jobs go whose payload does not fit or whose retries ran out; a person looks at them and may redrive them. */
export const DEAD_LETTERS = 'dead-letters';
