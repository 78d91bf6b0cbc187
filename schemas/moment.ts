/** Days and moments that the database can compare with: ISO 8601 allows some that PostgreSQL does not know. */
import { z } from 'zod';

/** PostgreSQL has no year 0, and ISO 8601 calls so what came before the year 1. */
const MIN_YEAR = 1;
/** PostgreSQL takes no offset from UTC beyond this; the clocks of the world keep within 14 hours. */
const MAX_OFFSET_HOURS = 15;

/** A moment with its offset from UTC. */
export const moment = z.iso
  .datetime({ offset: true, abort: true })
  .refine(
    (text) => Number(text.slice(0, 4)) >= MIN_YEAR && offsetHoursOf(text) <= MAX_OFFSET_HOURS,
    'must be a valid date and time',
  );

/** A day, without saying where. */
export const day = z.iso
  .date({ abort: true })
  .refine((text) => Number(text.slice(0, 4)) >= MIN_YEAR, 'must be a valid date');

/** `2026-01-01T00:00:00+02:00` -> 2 */
function offsetHoursOf(text: string): number {
  return Number(/[+-](\d\d):?\d\d$/.exec(text)?.[1] ?? 0);
}
