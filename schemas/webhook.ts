/** Webhooks with outcomes for integrators (2.6), and their registration and delivery (2.7, 4.9, 4.10). */
import { z } from 'zod';
import { moment } from './moment.ts';

export const WEBHOOK_TYPES = [
  'transaction.completed',
  'transaction.voided',
  'refund.completed',
  'refund.voided',
  'void.failed',
  'void.needsReview',
] as const;
export type WebhookType = (typeof WEBHOOK_TYPES)[number];

/** The five dispositions of every status document: a decline by the card is Declined here, with errorCode 2. */
const WEBHOOK_DISPOSITIONS = ['Approved', 'Declined', 'UnableToGoOnline', 'Indeterminate', 'Voided'] as const;

const processorValues = z.record(z.string(), z.string());

/** 2.6, flat, with the members of Standard Webhooks and a sequence (extensions). */
export const webhook = z
  .object({
    type: z
      .enum(WEBHOOK_TYPES)
      .describe(
        'Type of the event. Only transaction.completed and transaction.voided report the payment itself. refund.voided: the refund was reversed, so no money was returned. void.failed: the switch refused the void, and the sale remains approved. void.needsReview: the result of the void is unknown. After void.failed and void.needsReview, the sale can be neither refunded nor voided until the acquirer resolves it',
      ),
    timestamp: z.iso.datetime().describe('Time of the event, not of the delivery, ISO 8601 in UTC'),
    sequence: z.int().positive().describe('Sequence number; a later event of the same transaction has a higher number'),
    id: z
      .uuid()
      .describe(
        'Id of the intent, or reference of the link, that was paid; otherwise equal to serviceReference. Events of a refund or void have the id of the refund or void',
      ),
    originalTransactionId: z
      .uuid()
      .optional()
      .describe('Id of the sale that the refund or void belongs to; absent in events of a payment (extension)'),
    merchantId: z
      .string()
      .describe(
        'Id of the merchant of the payment. An endpoint receives the events of all merchants of an integrator, and two merchants may use the same reference (extension)',
      )
      .meta({ examples: ['1001'] }),
    merchantReference: z
      .string()
      .describe(
        'Reference of the payment: the paymentReference of a link or intent, otherwise the merchantReference of the transaction. In events of a refund, its refundReference; in events of a void, its id',
      ),
    disposition: z
      .enum(WEBHOOK_DISPOSITIONS)
      .describe('Final outcome of the transaction; an order is paid only if the value is Approved')
      .meta({ examples: ['Approved'] }),
    errorCode: z.int().optional().describe('Error code, see `errorCodes` of `GET /enums`; absent if approved'),
    paymentProviderReference: z
      .string()
      .optional()
      .describe('Reference of the payment processor; absent if the processor gave none'),
    authorisationCode: z.string().describe('Authorisation code of the issuer; empty without an approval'),
    amount: z
      .number()
      .describe('Amount in major units, as a number')
      .meta({ examples: [100] }),
    amountMinor: z
      .int()
      .describe('Amount in minor units, such as cents (extension)')
      .meta({ examples: [10000] }),
    currency: z
      .string()
      .describe('ISO 4217 alphabetic currency code')
      .meta({ examples: ['ZAR'] }),
    serviceReference: z.uuid().describe('Id of the backend transaction'),
    deviceInstallationId: z.string().describe('Identifier of the installation of the app that runs the SDK'),
    paymentProviderId: processorValues
      .optional()
      .describe('Identification of the merchant at the processor; the members depend on the processor type'),
    paymentProviderFields: processorValues
      .optional()
      .describe('Fields of the processor, for example for reconciliation; the members depend on the processor type'),
  })
  .meta({ id: 'Webhook' });

export type Webhook = z.infer<typeof webhook>;

/** 4.9. A valid URL must meet more conditions than its form: see the route. */
export const callbackRegistration = z
  .object({
    callbackUrl: z
      .string()
      .min(1)
      .max(2_048)
      .describe('HTTPS URL that receives the outcome of each transaction')
      .meta({ examples: ['https://shop.example/tapwire'] }),
  })
  .meta({ id: 'CallbackRegistration' });

/** 4.10. `disabledAt` (extension) is present after the receiver responded with 410 Gone. A new registration clears it. */
export const callback = z
  .object({
    callbackUrl: z.string().nullable().describe('Registered URL; null if none is registered'),
    disabledAt: z
      .string()
      .optional()
      .describe(
        'Time since which the gateway sends nothing, ISO 8601, because the receiver responded with 410; absent while active (extension)',
      ),
  })
  .meta({ id: 'Callback' });

/** A week is enough for the slowest deployment of a new secret. */
const MAX_OVERLAP_HOURS = 168;
const DEFAULT_OVERLAP_HOURS = 24;

/** 0 ends the old secret at once. What an earlier replacement promised ends only if the caller states that it leaked. */
export const secretRotation = z
  .object({
    overlapHours: z
      .int()
      .min(0)
      .max(MAX_OVERLAP_HOURS)
      .default(DEFAULT_OVERLAP_HOURS)
      .describe('Hours for which the previous secret remains valid, a whole number; 0 ends it at once'),
    isCompromised: z
      .boolean()
      .default(false)
      .describe(
        'Whether others may know an earlier secret. `true` ends all earlier secrets at once, even while an earlier replacement still has its overlap; `overlapHours` must then be 0.',
      ),
  })
  .refine(({ isCompromised, overlapHours }) => !isCompromised || overlapHours === 0, {
    path: ['overlapHours'],
    error: 'must be 0 if isCompromised is true',
  })
  .nullish()
  .transform((body) => body ?? { overlapHours: DEFAULT_OVERLAP_HOURS, isCompromised: false });

/** The only response that contains a secret. */
export const callbackSecret = z
  .object({
    secret: z.string().describe('Signing secret in the format of Standard Webhooks 1.0, `whsec_…`; returned only once'),
    previousValidUntil: z
      .string()
      .nullable()
      .describe('Time until which both secrets sign each webhook, ISO 8601; null without a previous secret'),
  })
  .meta({ id: 'CallbackSecret' });

/**
 * pending: another attempt follows. delivered: the receiver responded with 2xx. failed: the schedule has ended.
 * stopped: the receiver refuses further webhooks, or its registration was removed. Events in the last two states wait
 * for a replay.
 */
const EVENT_STATES = ['pending', 'delivered', 'failed', 'stopped'] as const;
export type EventState = (typeof EVENT_STATES)[number];

export const webhookEvent = z
  .object({
    id: z.uuid().describe('Id of the event, as in the header `webhook-id` of every attempt'),
    type: z.enum(WEBHOOK_TYPES).describe('Type of the event'),
    serviceReference: z.uuid().describe('Id of the backend transaction'),
    state: z
      .enum(EVENT_STATES)
      .describe(
        'Delivery state. pending: another attempt follows. delivered: the receiver responded with 2xx. failed: all attempts failed. stopped: the receiver responded with 410 or is not registered',
      ),
    createdAt: z.string().describe('Time of the event, ISO 8601 in UTC'),
    attempts: z.int().describe('Number of delivery attempts so far'),
    nextAttemptAt: z
      .string()
      .nullable()
      .describe('Time of the next attempt, ISO 8601 in UTC; null if none is scheduled'),
    payload: webhook.describe('Body of the webhook'),
  })
  .meta({ id: 'WebhookEvent' });

export type WebhookEventView = z.infer<typeof webhookEvent>;

export const webhookAttempt = z
  .object({
    number: z.int().positive().describe('Number of the attempt since the creation or last replay of the event, from 1'),
    at: z.string().describe('Time of the attempt, ISO 8601 in UTC'),
    url: z.string().describe('URL of the receiver'),
    status: z.int().nullable().describe('HTTP status of the response; null without a response'),
    error: z.string().nullable().describe('Reason why there was no response; null with a response'),
    durationMs: z.int().describe('Duration of the attempt in milliseconds'),
    response: z.string().nullable().describe('First kilobyte of the response body; null without a response'),
  })
  .meta({ id: 'WebhookAttempt' });

export type WebhookAttemptView = z.infer<typeof webhookAttempt>;

/** The result of a test of an endpoint. */
export const callbackTest = z
  .object({
    verdict: z
      .enum(['good', 'fault'])
      .describe('Result: `good` if the receiver responded with a status from 200 to 299'),
    url: webhookAttempt.shape.url,
    status: webhookAttempt.shape.status,
    error: webhookAttempt.shape.error,
    durationMs: webhookAttempt.shape.durationMs,
    response: webhookAttempt.shape.response,
  })
  .meta({ id: 'CallbackTest' });

const MAX_LIMIT = 500;
const DEFAULT_LIMIT = 100;

/** Newest first. Unknown parameters are refused: a misspelt filter must not widen a list. */
export const eventQuery = z.strictObject({
  type: z.enum(WEBHOOK_TYPES).optional().describe('Filter: type of the event'),
  state: z.enum(EVENT_STATES).optional().describe('Filter: delivery state'),
  serviceReference: z.uuid().optional().describe('Filter: id of the backend transaction'),
  from: moment.optional().describe('Filter: created at or after this time, ISO 8601 with offset'),
  to: moment.optional().describe('Filter: created before this time, ISO 8601 with offset'),
  after: z.uuid().optional().describe('Id of the last event of the previous page; the list continues after it'),
  limit: z
    .string()
    .regex(/^\d{1,3}$/, 'must be a whole number')
    .transform(Number)
    .pipe(z.int().min(1).max(MAX_LIMIT))
    .default(DEFAULT_LIMIT)
    .describe('Maximum number of results, 1 to 500'),
});

export const eventId = z.object({ id: z.uuid().describe('Id of the event, as in the header `webhook-id`') });

/**
 * From `from` (inclusive) to `before` (exclusive). Without `includeDelivered`, only events that were not delivered.
 */
export const replayRange = z
  .object({
    from: moment
      .describe('Start of the period (inclusive), ISO 8601 with offset')
      .meta({ examples: ['2026-03-01T00:00:00Z'] }),
    to: moment
      .describe('End of the period (exclusive), ISO 8601 with offset')
      .meta({ examples: ['2026-03-02T00:00:00Z'] }),
    includeDelivered: z.boolean().default(false).describe('Whether to replay events that were already delivered'),
  })
  .refine(({ from, to }) => Date.parse(from) < Date.parse(to), { path: ['to'], message: 'must be after from' });

export const replayed = z
  .object({ replayed: z.int().describe('Number of events that the gateway sends again') })
  .meta({ id: 'Replayed' });
