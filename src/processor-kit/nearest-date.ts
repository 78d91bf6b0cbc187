const DAY_MS = 24 * 3_600_000;
/** The longest business day lasts five days; a settlement date further from now is a mistake. */
const FURTHEST_MS = 5 * DAY_MS;

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
