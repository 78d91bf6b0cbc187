/** The lists of the console's work view: webhooks, links, jobs, settings, users and the audit trail of settings. */
import { z } from 'zod';
import { numberedId } from './admin.ts';
import { jobPayloads, type QueueName } from './jobs.ts';
import { instant } from './moment.ts';
import { plainText } from './plain-text.ts';

/** Rows of one page. */
export const WORK_PAGE_ROWS = 50;

const MAX_MERCHANT_CHARS = 255;
const MAX_REFERENCE_CHARS = 255;
const MAX_KIND_CHARS = 32;
/** The values of the columns that order a list, as text; the longest is a date with a time zone. */
const MAX_KEY_CHARS = 64;
const MAX_KEYS = 3;

const acquirer = numberedId.optional();
const period = { from: instant.optional(), to: instant.optional() };

/** Continues after the last row of the page before. */
const after = z.array(z.string().max(MAX_KEY_CHARS)).min(1).max(MAX_KEYS).optional();

export const QUEUES = Object.keys(jobPayloads) as QueueName[];
/**
 * Of links, for people. `held`: the tap on the link is in progress or uncertain. `cancelled`: a person expired the link.
 */
export const LINK_STATES = ['open', 'held', 'paid', 'expired', 'cancelled'] as const;
export const JOB_STATES = ['ready', 'active', 'later', 'retry', 'dead'] as const;

const webhookFilter = z.strictObject({
  acquirer,
  ...period,
  state: z.enum(['pending', 'delivered', 'failed', 'stopped']).optional(),
  merchant: plainText(MAX_MERCHANT_CHARS).optional(),
});
export type WebhookWorkFilter = z.output<typeof webhookFilter>;

const linkFilter = z.strictObject({
  acquirer,
  ...period,
  state: z.enum(LINK_STATES).optional(),
  merchant: plainText(MAX_MERCHANT_CHARS).optional(),
  /** The whole paymentReference, or the id of the link. */
  reference: plainText(MAX_REFERENCE_CHARS).optional(),
});
export type LinkWorkFilter = z.output<typeof linkFilter>;

const bySetting = z.strictObject({ acquirer });

export const workRequest = z.discriminatedUnion('list', [
  z.strictObject({ list: z.literal('webhooks'), filter: webhookFilter, after }),
  z.strictObject({ list: z.literal('links'), filter: linkFilter, after }),
  z.strictObject({
    list: z.literal('jobs'),
    filter: z.strictObject({ acquirer, queue: z.enum(QUEUES).optional(), state: z.enum(JOB_STATES).optional() }),
    after,
  }),
  z.strictObject({
    list: z.literal('audit'),
    filter: z.strictObject({ acquirer, ...period, kind: plainText(MAX_KIND_CHARS).optional() }),
    after,
  }),
  z.strictObject({ list: z.enum(['processors', 'routes', 'users']), filter: bySetting, after }),
]);
export type WorkRequest = z.output<typeof workRequest>;

/** Replays the events of a filter that are not delivered and not pending. */
export const undeliveredFilter = webhookFilter.extend({ state: z.enum(['failed', 'stopped']) });
