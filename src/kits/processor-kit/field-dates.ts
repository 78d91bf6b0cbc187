/** Dates and times as the fields of a message carry them. */
import { formatMoment } from './iso-moment.ts';

/** Zones change their offset only at whole quarters of an hour, so one lookup is valid for a quarter. */
const QUARTER_MS = 900_000;

/** About 600 zones exist; the cap keeps invented aliases from growing the table. */
const MAX_ZONES = 1_024;

const DAY_MS = 24 * 3_600_000;
/** The longest business day lasts five days; a settlement date further from now is a mistake. */
const FURTHEST_MS = 5 * DAY_MS;

interface ZoneClock {
  readonly format: Intl.DateTimeFormat;
  quarter: number;
  offsetMs: number;
}

const clocks = new Map<string, ZoneClock>();

/**
 * The local time of a terminal as `YYYYMMDDHHmmss`. DE13 is the month and day, DE12 the last six digits.
 *
 * @param timeZone an IANA name, such as `Africa/Johannesburg`
 * @throws RangeError if the zone is unknown
 */
export function localDateTime(atMs: number, timeZone: string): string {
  return digitsOf(atMs + offsetMs(atMs, timeZone));
}

/** DE7: `MMDDhhmmss` in UTC (ISO 8583:1987 4.3.3). */
export function transmissionDateTime(atMs: number): string {
  return digitsOf(atMs).slice(4);
}

function offsetMs(atMs: number, timeZone: string): number {
  const quarter = Math.floor(atMs / QUARTER_MS);
  let clock = clocks.get(timeZone);
  if (clock?.quarter === quarter) return clock.offsetMs;
  if (clock === undefined) {
    if (clocks.size >= MAX_ZONES) clocks.clear();
    clock = { format: zoneFormat(timeZone), quarter: 0, offsetMs: 0 };
    clocks.set(timeZone, clock);
  }
  clock.offsetMs = wallClockMs(clock.format, quarter * QUARTER_MS) - quarter * QUARTER_MS;
  clock.quarter = quarter;
  return clock.offsetMs;
}

function zoneFormat(timeZone: string): Intl.DateTimeFormat {
  return new Intl.DateTimeFormat('en-US', {
    timeZone,
    hourCycle: 'h23',
    year: 'numeric',
    month: '2-digit',
    day: '2-digit',
    hour: '2-digit',
    minute: '2-digit',
    second: '2-digit',
  });
}

function wallClockMs(format: Intl.DateTimeFormat, atMs: number): number {
  const part = new Map(format.formatToParts(atMs).map(({ type, value }) => [type, Number(value)]));
  return Date.UTC(
    part.get('year')!,
    part.get('month')! - 1,
    part.get('day'),
    part.get('hour'),
    part.get('minute'),
    part.get('second'),
  );
}

/** The last formatted second: hundreds of taps share it. */
const last = { second: Number.NaN, digits: '' };

function digitsOf(ms: number): string {
  const second = Math.floor(ms / 1_000);
  if (second !== last.second) {
    last.second = second;
    const iso = formatMoment(ms);
    const date = iso.slice(0, 4) + iso.slice(5, 7) + iso.slice(8, 10);
    last.digits = date + iso.slice(11, 13) + iso.slice(14, 16) + iso.slice(17, 19);
  }
  return last.digits;
}

/**
 * The date, `2026-11-20`, that a settlement date (DE15, MMDD) means at a given time: the one nearest to that time, of
 * all possible years. Undefined if the text is not a date, or the date is too far from that time.
 */
export function nearestDate(monthDay: string, atMs: number): string | undefined {
  const year = new Date(atMs).getUTCFullYear();
  const dates = [year - 1, year, year + 1].map((each) =>
    Date.parse(`${each}-${monthDay.slice(0, 2)}-${monthDay.slice(2)}`),
  );
  const nearest = dates
    .filter((ms) => !Number.isNaN(ms))
    .sort((one, other) => Math.abs(one - atMs) - Math.abs(other - atMs))[0];
  if (nearest === undefined || Math.abs(nearest - atMs) > FURTHEST_MS) return undefined;
  return new Date(nearest).toISOString().slice(0, 10);
}
