import { jobPayloads, type QueueName } from '#schemas/jobs';

/**
 * Every queue with its retry limits. pg-boss retries a job whose worker died or threw. Schedules that concern money
 * (reversals) do not use that: their next attempt is a separate job, committed with its start time.
 */
export interface QueuePolicy {
  /** A job that a worker holds longer than this counts as orphaned and is given to another one. */
  readonly expireInSeconds: number;
  readonly retryLimit: number;
  readonly retryDelay: number;
  readonly retryBackoff: boolean;
  readonly retryDelayMax?: number;
}

/** Retries until the cause is removed: the job keeps a transaction from remaining in a transient status. */
const UNTIL_DONE = { retryLimit: 10_000, retryDelay: 1, retryBackoff: true, retryDelayMax: 60 } as const;

export const QUEUES: Readonly<Record<QueueName, QueuePolicy>> = {
  // At most two tries fit before respond_by; then `overdue` takes over.
  authorize: { expireInSeconds: 50, retryLimit: 3, retryDelay: 1, retryBackoff: false },
  refund: { expireInSeconds: 50, retryLimit: 3, retryDelay: 1, retryBackoff: false },
  overdue: { expireInSeconds: 15, ...UNTIL_DONE },
  'overdue-taps': { expireInSeconds: 15, ...UNTIL_DONE },
  'expire-pin': { expireInSeconds: 15, ...UNTIL_DONE },
  'expire-link': { expireInSeconds: 15, ...UNTIL_DONE },
  // Longer than any switch's deadline, so that a repeat is not sent while the first one waits for its response.
  reverse: { expireInSeconds: 150, ...UNTIL_DONE },
  complete: { expireInSeconds: 150, ...UNTIL_DONE },
  // A batch takes seconds on a busy database; a second one at the same time would do no harm.
  purge: { expireInSeconds: 300, ...UNTIL_DONE },
  // Longer than an attempt and the wait for its turn. The worker that takes over an orphaned job sends the event
  // again, with its id.
  webhook: { expireInSeconds: 60, ...UNTIL_DONE },
  // Longer than an attempt. The schedule of a push is separate, and ends before a till has given up the payment.
  push: { expireInSeconds: 30, retryLimit: 3, retryDelay: 5, retryBackoff: false },
};

/**
 * Queues that may hold a hundred thousand jobs have their own table, so that scanning them does not affect the
 * others.
 */
export const STANDS_APART: ReadonlySet<QueueName> = new Set<QueueName>(['overdue', 'overdue-taps', 'webhook']);

export const QUEUE_NAMES = Object.keys(jobPayloads) as QueueName[];

/**
 * Receives jobs whose payload is invalid or whose retries are used up. A person examines them and may redrive them.
 */
export const DEAD_LETTERS = 'dead-letters';
