import { z } from 'zod';
import { DISPOSITIONS } from './transaction.ts';
import { WEBHOOK_TYPES } from './webhook.ts';

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

/** What an integrator is to be told of, as it was committed. */
const webhookOutcome = z.strictObject({
  transactionId: z.uuid(),
  type: z.enum(WEBHOOK_TYPES),
  disposition: z.enum(DISPOSITIONS),
  sequence: z.int().positive(),
  at: z.iso.datetime(),
  amountMinor: z.int().nonnegative(),
  currency: z.string().max(3),
});

export const jobPayloads = {
  /** Submit what an `api` process accepted. */
  authorize: transactionAttempt,
  /** Submit a refund that an `api` process accepted. */
  refund: transactionAttempt,
  /** The deadline has passed: bring the transaction to where it may rest. */
  overdue: transactionAttempt,
  /** The time for a PIN is over: the decline that asked for it stands. */
  'expire-pin': transactionAttempt,
  /** The time of a link is over: its reference is free again, unless a tap holds it. */
  'expire-link': z.strictObject({ acquirerId: z.int().positive(), id: z.uuid() }),
  /** Send one reversal, or a repeat of it. */
  reverse: transactionAttempt.extend({ reversalAttempt: z.int().positive() }),
  /** Tell the switch to post what it has approved, or repeat it. */
  complete: transactionAttempt.extend({ completionAttempt: z.int().positive() }),
  /** Remove what is older than it may be; one such job lives for ever. */
  purge: z.strictObject({}),
  /** Attempt one delivery of an event to its endpoint. */
  webhook: z.strictObject({
    acquirerId: z.int().positive(),
    eventId: z.uuid(),
    endpointId: z.uuid(),
    /** A replay begins a new round; a job of an earlier one has nothing left to do. */
    round: z.int().positive(),
    /** Its place in the schedule. */
    delivery: z.int().positive(),
    /** With the first job alone, which writes the event. */
    outcome: webhookOutcome.optional(),
  }),
  /** Tell a device once more of a payment that it may not have heard of. */
  push: z.strictObject({
    acquirerId: z.int().positive(),
    /** Of the link. */
    reference: z.uuid(),
    /** Of the registration. */
    deviceId: z.uuid(),
    attempt: z.int().positive(),
  }),
} as const;

export type WebhookOutcome = z.infer<typeof webhookOutcome>;
export type QueueName = keyof typeof jobPayloads;
export type JobPayloads = { [Queue in QueueName]: z.infer<(typeof jobPayloads)[Queue]> };
