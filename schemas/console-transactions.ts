/**
 * The list of transactions of the operations console. Its requests are bodies and never URLs, because a search term may
 * be a card number.
 */
import { z } from 'zod';
import { numberedId } from './admin.ts';
import { instant } from './moment.ts';
import { plainText } from './plain-text.ts';

/** Length of a reference, the longest search term. */
const MAX_TERM_CHARS = 255;
const MAX_NAME_CHARS = 64;
/** Rows that one page of the console shows, and asks about again. */
export const PAGE_ROWS = 50;
const MAX_PAGE_ROWS = 200;
/** A person who leaves the page open scrolls through a few pages. */
const MAX_WATCHED_ROWS = 500;

/** Major units of any currency, as people write them. */
export const writtenAmount = z.string().regex(/^\d{1,12}(\.\d{1,4})?$/, 'must be an amount such as 10.00');

export const OUTCOME_FILTERS = [
  'approved',
  'declined',
  'declinedOffline',
  'unableToGoOnline',
  'indeterminate',
  'voided',
  /** Transactions without an outcome yet. */
  'open',
] as const;

/** Kinds of transactions, as people distinguish them. A sale is a tap, whichever reader took it. */
export const TYPE_FILTERS = ['sale', 'refund', 'void', 'mandate'] as const;

export const transactionListFilter = z.strictObject({
  /** Any known detail of a transaction. */
  q: plainText(MAX_TERM_CHARS)
    .transform((text) => text.trim())
    .optional(),
  type: z.enum(TYPE_FILTERS).optional(),
  outcome: z.enum(OUTCOME_FILTERS).optional(),
  acquirer: numberedId.optional(),
  merchant: plainText(MAX_TERM_CHARS).optional(),
  /** The identifier that the phone sends, or the TID at the switch. */
  terminal: plainText(MAX_NAME_CHARS).optional(),
  scheme: plainText(MAX_NAME_CHARS).optional(),
  processor: z.strictObject({ acquirer: numberedId, id: numberedId }).optional(),
  min: writtenAmount.optional(),
  max: writtenAmount.optional(),
  from: instant.optional(),
  to: instant.optional(),
  /** What a person must resolve, or what the gateway still reverses. */
  attention: z.enum(['review', 'reversal']).optional(),
});

/** Position of a row in the list: microseconds since 1970, and its id. */
const position = z
  .string()
  .regex(/^\d{1,17}_[0-9a-f-]{36}$/)
  .transform((text) => ({ micros: text.split('_')[0]!, id: text.split('_')[1]! }))
  .pipe(z.object({ micros: z.string(), id: z.uuid() }));

export const transactionListRequest = z.strictObject({
  filter: transactionListFilter,
  after: position.optional(),
  rows: z.int().min(1).max(MAX_PAGE_ROWS).default(PAGE_ROWS),
});

export const transactionCountRequest = z.strictObject({ filter: transactionListFilter });

export const transactionChangesRequest = z.strictObject({
  filter: transactionListFilter,
  /** The newest row that the page shows; without one, all rows are new. */
  newest: position.optional(),
  shown: z.array(z.strictObject({ acquirerId: numberedId, id: z.uuid() })).max(MAX_WATCHED_ROWS),
});

export const consoleTransactionId = z.strictObject({ id: z.uuid() });

export type TransactionListFilter = z.output<typeof transactionListFilter>;
export type ListPosition = z.output<typeof position>;
