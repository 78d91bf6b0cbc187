/**
 * Requests of the operations console to its gateway. They are internal to the page and not an interface for
 * integrators.
 */
import { z } from 'zod';

/** Length of a reference, the longest search term. */
const MAX_QUERY_CHARS = 255;
/** A search by STAN, RRN or card covers the transactions of this many hours; the maximum is a month. */
const MAX_HOURS = 744;
const DAY_HOURS = 24;

/** In a body and never in a URL, because it may be a card number. */
export const consoleSearch = z.strictObject({
  query: z.string().trim().min(1).max(MAX_QUERY_CHARS),
  hours: z.int().min(1).max(MAX_HOURS).default(DAY_HOURS),
});

export const consoleTransaction = z.strictObject({
  acquirerId: z
    .string()
    .regex(/^[1-9]\d{0,8}$/, 'must be an acquirer id')
    .transform(Number),
  id: z.uuid(),
});

/** Connection names of the gateway, `1-1-type-1-0a1b2c3d-1`. */
const lineName = z.string().min(1).max(128);

/** An action of an operator. Each is recorded before it is carried out. */
export const consoleAct = z.discriminatedUnion('act', [
  z.strictObject({ act: z.literal('replayWebhook'), acquirerId: z.int().positive(), id: z.uuid() }),
  z.strictObject({ act: z.literal('redriveDeadLetter'), id: z.uuid() }),
  z.strictObject({ act: z.literal('retryReversal'), acquirerId: z.int().positive(), id: z.uuid() }),
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
