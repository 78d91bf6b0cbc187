/**
 * Retrieval reference number (DE37, an12): last digit of the year, day of the year, hour (all UTC), then the STAN.
 * Unique for ten years as long as a STAN does not repeat within an hour.
 *
 * @param stan six digits
 */
export function retrievalReference(atMs: number, stan: string): string {
  const at = new Date(atMs);
  const year = at.getUTCFullYear();
  const dayOfYear = Math.floor((atMs - Date.UTC(year, 0, 1)) / 86_400_000) + 1;
  return `${year % 10}${String(dayOfYear).padStart(3, '0')}${String(at.getUTCHours()).padStart(2, '0')}${stan}`;
}

/** A STAN half the range away: for a simulated switch that responds with another STAN, which no nearby request has. */
export function otherStan(stan: string): string {
  return String(((Number(stan) + 500_000) % 999_999) + 1).padStart(6, '0');
}
