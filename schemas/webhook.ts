/** What integrators are told of outcomes (2.6), and how they see to it that it reaches them (2.7, 4.9, 4.10). */
import { z } from 'zod';
import { moment } from './moment.ts';

export const WEBHOOK_TYPES = [
  'transaction.completed',
  'transaction.voided',
  'refund.completed',
  'void.failed',
  'void.needsReview',
] as const;
export type WebhookType = (typeof WEBHOOK_TYPES)[number];

/** Five, as in every status document: what the card declined itself is Declined here, with errorCode 2. */
const WEBHOOK_DISPOSITIONS = ['Approved', 'Declined', 'UnableToGoOnline', 'Indeterminate', 'Voided'] as const;

const processorValues = z.record(z.string(), z.string());

/** 2.6, flat, with the members of Standard Webhooks and a sequence (extensions). */
export const webhook = z
  .object({
    type: z
      .enum(WEBHOOK_TYPES)
      .describe(
        'What happened. void.failed: the switch refused the void for good, and the sale stands. void.needsReview: nobody knows what the switch did with the void; the sale can be neither refunded nor voided until the acquirer has resolved it',
      ),
    timestamp: z.iso.datetime().describe('When it happened, not when it was sent'),
    sequence: z.int().positive().describe('A later event of the same transaction has a higher number'),
    id: z.uuid().describe('The consumer transaction; serviceReference where there is none'),
    merchantReference: z.string().describe('Of the SDK integrating app'),
    disposition: z
      .enum(WEBHOOK_DISPOSITIONS)
      .describe('What became of the transaction: an order is paid when it is Approved')
      .meta({ examples: ['Approved'] }),
    errorCode: z.int().optional().describe('Left out when approved'),
    paymentProviderReference: z.string().optional().describe("The processor's reference"),
    authorisationCode: z.string().describe('Of the issuer; empty without one'),
    amount: z.number().describe('Major units'),
    currency: z
      .string()
      .describe('ISO 4217 code')
      .meta({ examples: ['ZAR'] }),
    serviceReference: z.uuid().describe('Transaction id'),
    deviceInstallationId: z.string().describe('The installation of the app that runs the SDK'),
    paymentProviderId: processorValues.optional().describe('Who the merchant is at its processor; by processor type'),
    paymentProviderFields: processorValues
      .optional()
      .describe('More of the processor, for reconciliation; by processor type'),
  })
  .meta({ id: 'Webhook' });

export type Webhook = z.infer<typeof webhook>;

/** 4.9. What makes a URL usable is more than its shape: see the route. */
export const callbackRegistration = z
  .object({
    callbackUrl: z
      .string()
      .min(1)
      .max(2_048)
      .describe('https URL that outcomes are posted to')
      .meta({ examples: ['https://shop.example/tapwire'] }),
  })
  .meta({ id: 'CallbackRegistration' });

/** 4.10. `disabledAt` (extension) is there once the receiver answered 410 Gone: registering anew ends that. */
export const callback = z
  .object({
    callbackUrl: z.string().nullable().describe('null: none is registered'),
    disabledAt: z.string().optional().describe('Since when nothing is sent: the receiver answered 410 (extension)'),
  })
  .meta({ id: 'Callback' });

/** A week is enough for the slowest deployment of a new secret. */
const MAX_OVERLAP_HOURS = 168;
const DEFAULT_OVERLAP_HOURS = 24;

/** With 0 the old secret ends at once: for one that leaked. */
export const secretRotation = z
  .object({
    overlapHours: z
      .int()
      .min(0)
      .max(MAX_OVERLAP_HOURS)
      .default(DEFAULT_OVERLAP_HOURS)
      .describe('Whole hours for which the previous secret also signs; 0 ends it at once'),
  })
  .nullish()
  .transform((body) => body ?? { overlapHours: DEFAULT_OVERLAP_HOURS });

/** The only time that a secret is shown. */
export const callbackSecret = z
  .object({
    secret: z.string().describe('whsec_…, Standard Webhooks 1.0'),
    previousValidUntil: z.string().nullable().describe('Until then each webhook is signed with both secrets'),
  })
  .meta({ id: 'CallbackSecret' });

/**
 * pending: another attempt will come. delivered: answered with 2xx. failed: the schedule is over. stopped: the receiver
 * wants no more, or is no longer registered. The last two wait for a replay.
 */
const EVENT_STATES = ['pending', 'delivered', 'failed', 'stopped'] as const;
export type EventState = (typeof EVENT_STATES)[number];

export const webhookEvent = z
  .object({
    id: z.uuid().describe('The webhook-id of every attempt'),
    type: z.enum(WEBHOOK_TYPES).describe('What happened'),
    serviceReference: z.uuid().describe('Transaction id'),
    state: z
      .enum(EVENT_STATES)
      .describe(
        'pending: another attempt will come. delivered: answered with 2xx. failed: the schedule is over. stopped: the receiver wants no more',
      ),
    createdAt: z.string().describe('When it happened'),
    attempts: z.int().describe('How many there were'),
    nextAttemptAt: z.string().nullable().describe('When the next is due; null when none is'),
    payload: webhook.describe('What is sent'),
  })
  .meta({ id: 'WebhookEvent' });

export type WebhookEventView = z.infer<typeof webhookEvent>;

export const webhookAttempt = z
  .object({
    number: z.int().positive().describe('Of this round, from 1'),
    at: z.string().describe('When'),
    url: z.string().describe('Where it was sent'),
    status: z.int().nullable().describe('null: there was no answer'),
    error: z.string().nullable().describe('Why there was no answer'),
    durationMs: z.int().describe('How long it took, in milliseconds'),
    answer: z.string().nullable().describe('The first kilobyte'),
  })
  .meta({ id: 'WebhookAttempt' });

export type WebhookAttemptView = z.infer<typeof webhookAttempt>;

const MAX_LIMIT = 500;
const DEFAULT_LIMIT = 100;

/** Newest first. Unknown parameters are refused: a misspelt filter must not widen a list. */
export const eventQuery = z.strictObject({
  type: z.enum(WEBHOOK_TYPES).optional().describe('Of this type alone'),
  state: z.enum(EVENT_STATES).optional().describe('In this state alone'),
  serviceReference: z.uuid().optional().describe('Of this transaction alone'),
  from: moment.optional().describe('Of this moment or later'),
  to: moment.optional().describe('Before this moment'),
  after: z.uuid().optional().describe('Those behind the one with this id'),
  limit: z
    .string()
    .regex(/^\d{1,3}$/, 'not a whole number')
    .transform(Number)
    .pipe(z.int().min(1).max(MAX_LIMIT))
    .default(DEFAULT_LIMIT)
    .describe('The most that are listed'),
});

export const eventId = z.object({ id: z.uuid().describe('webhook-id of the event') });

/** From `from` on, before `to`. Without `includeDelivered` only what did not arrive. */
export const replayRange = z
  .object({
    from: moment.describe('From this moment on').meta({ examples: ['2026-03-01T00:00:00Z'] }),
    to: moment.describe('Before this moment').meta({ examples: ['2026-03-02T00:00:00Z'] }),
    includeDelivered: z.boolean().default(false).describe('Also what arrived'),
  })
  .refine(({ from, to }) => Date.parse(from) < Date.parse(to), { path: ['to'], message: 'is not after from' });

export const replayed = z
  .object({ replayed: z.int().describe('How many will be sent again') })
  .meta({ id: 'Replayed' });
