/**
 * Requests of the operations console to its gateway. They are internal to the page and not an interface for
 * integrators.
 */
import { z } from 'zod';
import { numberedId, numberInPath } from './admin.ts';
import { writtenAmount } from './console-transactions.ts';
import { savedView, viewName } from './console-views.ts';
import { undeliveredFilter } from './console-work.ts';
import { MAX_PASSWORD_CHARS, oneTimeCode } from './login.ts';
import { plainText } from './plain-text.ts';
import { reason } from './reason.ts';

const MAX_NAME_CHARS = 255;

/** Part of a merchant's name, or its id. */
export const merchantSuggestions = z.strictObject({ text: plainText(MAX_NAME_CHARS) });

/** Connection names of the gateway, `1-1-type-1-0a1b2c3d-1`. */
const lineName = z.string().min(1).max(128);

/** Of the form that a person filled in: all that it sends is one refund, or one cancellation. */
const formId = z.string().regex(/^[\da-f]{32}$/, 'must be 32 hexadecimal digits');

/** A refund from the console. Its outcome depends on the switch, so it is not one of the actions. */
export const consoleRefund = z.strictObject({
  acquirerId: numberedId,
  /** Id of the sale. */
  id: z.uuid(),
  /** Major units of the sale's currency. */
  amount: writtenAmount,
  formId,
  reason,
});
export type ConsoleRefund = z.output<typeof consoleRefund>;

/** An action of an operator. Each is recorded before it is carried out. */
export const consoleAct = z.discriminatedUnion('act', [
  z.strictObject({ act: z.literal('replayWebhook'), acquirerId: numberedId, id: z.uuid() }),
  z.strictObject({ act: z.literal('replayWebhooks'), filter: undeliveredFilter }),
  z.strictObject({ act: z.literal('redriveDeadLetter'), id: z.uuid() }),
  z.strictObject({ act: z.literal('cancelLink'), acquirerId: numberedId, id: z.uuid(), formId, reason }),
  z.strictObject({ act: z.literal('voidSale'), acquirerId: numberedId, id: z.uuid() }),
  z.strictObject({ act: z.literal('retryReversal'), acquirerId: numberedId, id: z.uuid() }),
  z.strictObject({
    act: z.literal('resolveReview'),
    acquirerId: numberedId,
    id: z.uuid(),
    /** What the switch's books say. */
    books: z.enum(['voided', 'approved', 'adjusted']),
    reason,
    /** The last change of the transaction that the person saw. */
    seenAt: z.iso.datetime(),
  }),
  z.strictObject({
    act: z.enum(['confirmResolution', 'rejectResolution']),
    acquirerId: numberedId,
    /** Id of the resolution. */
    id: z.uuid(),
  }),
  z.strictObject({
    act: z.enum(['signOff', 'signOn']),
    processId: z.uuid(),
    acquirerId: numberedId,
    processorId: numberedId,
    line: lineName,
  }),
  z.strictObject({ act: z.enum(['drain', 'resume']), processId: z.uuid() }),
]);

export type ConsoleAct = z.infer<typeof consoleAct>;

/** Whose admin events are verified; without an acquirer, all. */
export const auditVerdictQuery = z.strictObject({ acquirer: numberInPath.optional() });

/** How far back the view goes, and the time between two points of its charts. */
export const HISTORY_RANGES = {
  '15m': { minutes: 15, spanMinutes: 1 },
  '1h': { minutes: 60, spanMinutes: 1 },
  '6h': { minutes: 360, spanMinutes: 5 },
  '24h': { minutes: 1_440, spanMinutes: 15 },
  '7d': { minutes: 10_080, spanMinutes: 60 },
  '30d': { minutes: 43_200, spanMinutes: 360 },
} as const;
export type HistoryRange = keyof typeof HISTORY_RANGES;

const MAX_ID_DIGITS = 10;
const id = z
  .string()
  .regex(new RegExp(`^[1-9]\\d{0,${MAX_ID_DIGITS - 1}}$`))
  .transform(Number);

export const historyQuery = z
  .strictObject({
    range: z.enum(Object.keys(HISTORY_RANGES) as HistoryRange[]),
    /** One switch instead of all: its acquirer and its processor. */
    acquirer: id.optional(),
    processor: id.optional(),
  })
  .refine(
    ({ acquirer, processor }) => processor === undefined || acquirer !== undefined,
    'a processor needs its acquirer',
  );
export type HistoryQuery = z.output<typeof historyQuery>;

const password = z.string().min(1).max(MAX_PASSWORD_CHARS);
const sessionId = z.string().regex(/^[\da-f]{64}$/, 'must be the id of a session');

/** What people do with their own account, and administrators with sessions of others. */
export const accountAct = z.discriminatedUnion('act', [
  z.strictObject({ act: z.literal('endSession'), id: sessionId }),
  z.strictObject({ act: z.literal('endOtherSessions') }),
  z.strictObject({ act: z.literal('beginTotp'), password, code: oneTimeCode.optional() }),
  z.strictObject({ act: z.literal('confirmTotp'), code: oneTimeCode }),
  z.strictObject({ act: z.literal('removeTotp'), password, code: oneTimeCode.optional() }),
  savedView.extend({ act: z.literal('saveView') }),
  z.strictObject({ act: z.literal('removeView'), name: viewName }),
]);
export type AccountAct = z.output<typeof accountAct>;
