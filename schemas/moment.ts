/** Dates and times that the database can compare: ISO 8601 allows some that PostgreSQL refuses. */
import { z } from 'zod';

/** PostgreSQL has no year 0, which in ISO 8601 is the year before year 1. */
const MIN_YEAR = 1;
/** PostgreSQL refuses a larger offset from UTC. All time zones are within 14 hours. */
const MAX_OFFSET_HOURS = 15;

/** A time with its offset from UTC. */
export const moment = z.iso
  .datetime({ offset: true, abort: true })
  .refine(
    (text) => Number(text.slice(0, 4)) >= MIN_YEAR && offsetHoursOf(text) <= MAX_OFFSET_HOURS,
    'must be a valid date and time',
  );

export const instant = moment.transform((text) => new Date(text));

/** A date without a time zone. */
export const day = z.iso
  .date({ abort: true })
  .refine((text) => Number(text.slice(0, 4)) >= MIN_YEAR, 'must be a valid date');

/** `2026-01-01T00:00:00+02:00` -> 2 */
function offsetHoursOf(text: string): number {
  return Number(/[+-](\d\d):?\d\d$/.exec(text)?.[1] ?? 0);
}
