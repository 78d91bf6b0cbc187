import { z } from 'zod';
import { DISPOSITIONS } from './transaction.ts';
import { WEBHOOK_TYPES } from './webhook.ts';

/**
 * Payloads of the jobs. They name transactions and never contain card data, because a job's row remains after its
 * work. A worker validates a payload when it takes the job; an invalid one becomes a dead letter.
 */
const transactionAttempt = z.strictObject({
  acquirerId: z.int().positive(),
  id: z.uuid(),
  /** A message of attempt 1 cannot affect attempt 2. */
  attempt: z.int().positive(),
});

/** The outcome for an integrator, as it was committed. */
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
  /** Submit a tap that an `api` process accepted. */
  authorize: transactionAttempt,
  /** Submit a refund that an `api` process accepted. */
  refund: transactionAttempt,
  /** The time for a PIN has ended: the decline that asked for it is final. */
  'expire-pin': transactionAttempt,
  /** The link has expired: its reference becomes available, unless a tap holds it. */
  'expire-link': z.strictObject({ acquirerId: z.int().positive(), id: z.uuid() }),
  /** Send or repeat one reversal. */
  reverse: transactionAttempt.extend({ reversalAttempt: z.int().positive() }),
  /** Send or repeat the completion of an approval. */
  complete: transactionAttempt.extend({ completionAttempt: z.int().positive() }),
  /** Remove data past its retention time. One such job exists permanently. */
  purge: z.strictObject({}),
  /** Attempt one delivery of an event to its endpoint. */
  webhook: z.strictObject({
    acquirerId: z.int().positive(),
    eventId: z.uuid(),
    endpointId: z.uuid(),
    /** A replay starts a new round; a job of an earlier round does nothing. */
    round: z.int().positive(),
    /** Position in the schedule. */
    delivery: z.int().positive(),
    /** Only in the first job, which writes the event. */
    outcome: webhookOutcome.optional(),
  }),
  /** Send a push message again, because the device may not have received it. */
  push: z.strictObject({
    acquirerId: z.int().positive(),
    /** Reference of the link. */
    reference: z.uuid(),
    /** Device id of the registration. */
    deviceId: z.uuid(),
    attempt: z.int().positive(),
  }),
} as const;

export type WebhookOutcome = z.infer<typeof webhookOutcome>;
export type QueueName = keyof typeof jobPayloads;
export type JobPayloads = { [Queue in QueueName]: z.infer<(typeof jobPayloads)[Queue]> };
