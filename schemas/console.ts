/** What the operations console asks of its gateway: a page's own questions, and no interface for integrators. */
import { z } from 'zod';

/** Room for a reference, which is the longest of what is searched by. */
const MAX_QUERY_CHARS = 255;
/** Taps are looked for by STAN, RRN or card among those of so many hours; a month of them is the most. */
const MAX_HOURS = 744;
const DAY_HOURS = 24;

/** In a body and never in an address, since it may be a card number. */
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

/** Names of ours, `1-1-type-1-0a1b2c3d-1`. */
const lineName = z.string().min(1).max(128);

/** What an operator has done; each is recorded before it is done. */
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
