import { z } from 'zod';

/**
 * What the jobs of the pipeline carry: names of transactions, never card data (a job's row outlives its work). Checked
 * when a job is taken; a payload that does not fit goes to the dead letters.
 */
const transactionAttempt = z.strictObject({
  acquirerId: z.int().positive(),
  id: z.uuid(),
  /** A message of attempt 1 cannot touch attempt 2. */
  attempt: z.int().positive(),
});

export const jobPayloads = {
  /** Submit what an `api` process accepted. */
  authorize: transactionAttempt,
  /** The deadline has passed: bring the transaction to where it may rest. */
  overdue: transactionAttempt,
  /** Send one reversal, or a repeat of it. */
  reverse: transactionAttempt.extend({ reversalAttempt: z.int().positive() }),
} as const;

export type QueueName = keyof typeof jobPayloads;
export type JobPayloads = { [Queue in QueueName]: z.infer<(typeof jobPayloads)[Queue]> };
