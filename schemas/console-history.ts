/** The console's view of the past: what the switches did, from stored figures. */
import { z } from 'zod';

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
