/**
 * Requests of the operations console to its gateway. They are internal to the page and not an interface for
 * integrators.
 */
import { z } from 'zod';
import { numberInPath } from './admin.ts';
import { undeliveredFilter } from './console-work.ts';
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
  acquirerId: z.int().positive(),
  /** Id of the sale. */
  id: z.uuid(),
  /** Major units of the sale's currency. */
  amount: z.string().regex(/^\d{1,12}(\.\d{1,4})?$/, 'must be an amount such as 10.00'),
  formId,
  reason,
});
export type ConsoleRefund = z.output<typeof consoleRefund>;

/** An action of an operator. Each is recorded before it is carried out. */
export const consoleAct = z.discriminatedUnion('act', [
  z.strictObject({ act: z.literal('replayWebhook'), acquirerId: z.int().positive(), id: z.uuid() }),
  z.strictObject({ act: z.literal('replayWebhooks'), filter: undeliveredFilter }),
  z.strictObject({ act: z.literal('redriveDeadLetter'), id: z.uuid() }),
  z.strictObject({ act: z.literal('cancelLink'), acquirerId: z.int().positive(), id: z.uuid(), formId, reason }),
  z.strictObject({ act: z.literal('voidSale'), acquirerId: z.int().positive(), id: z.uuid() }),
  z.strictObject({ act: z.literal('retryReversal'), acquirerId: z.int().positive(), id: z.uuid() }),
  z.strictObject({
    act: z.literal('resolveReview'),
    acquirerId: z.int().positive(),
    id: z.uuid(),
    /** What the switch's books say. */
    books: z.enum(['voided', 'approved', 'adjusted']),
    reason,
    /** The last change of the transaction that the person saw. */
    seenAt: z.iso.datetime(),
  }),
  z.strictObject({
    act: z.enum(['confirmResolution', 'rejectResolution']),
    acquirerId: z.int().positive(),
    /** Id of the resolution. */
    id: z.uuid(),
  }),
  z.strictObject({
    act: z.enum(['signOff', 'signOn']),
    processId: z.uuid(),
    acquirerId: z.int().positive(),
    processorId: z.int().positive(),
    line: lineName,
  }),
  z.strictObject({ act: z.enum(['drain', 'resume']), processId: z.uuid() }),
]);

export type ConsoleAct = z.infer<typeof consoleAct>;

/** Whose admin events are verified; without an acquirer, all. */
export const auditVerdictQuery = z.strictObject({ acquirer: numberInPath.optional() });
