import type { NewMerchant } from '#schemas/admin-tenants';
import { brokenRules, refused } from '../../errors.ts';
import { findCountry } from '../countries.ts';
import { findCurrency } from '../money.ts';

/**
 * Whether a merchant can be somewhere on earth.
 *
 * @throws RequestRefused 400 with a JSON pointer for each fault
 */
export function checkMerchant({
  currency,
  country,
  timeZone,
}: Pick<NewMerchant, 'currency' | 'country' | 'timeZone'>): void {
  const faults = brokenRules([
    [!findCurrency(currency), 'currency', 'no currency of ISO 4217'],
    [!findCountry(country), 'country', 'no country of ISO 3166-1'],
    [!isTimeZone(timeZone), 'timeZone', 'no time zone of the IANA database'],
  ]);
  if (faults.length > 0) throw refused(faults);
}

/** By its name. Offsets (`+02:00`), which the runtime takes as well, know no daylight saving. */
function isTimeZone(name: string): boolean {
  if (!/^[A-Za-z]/.test(name)) return false;
  try {
    return new Intl.DateTimeFormat('en', { timeZone: name }) !== undefined;
  } catch {
    return false;
  }
}
