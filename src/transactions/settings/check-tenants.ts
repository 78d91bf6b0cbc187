import type { NewMerchant } from '#schemas/admin-tenants';
import { brokenRules, invalidValues } from '../../errors.ts';
import { findCountry } from '../model/countries.ts';
import { type Currency, findCurrency } from '../model/money.ts';

/**
 * Whether a merchant can be somewhere on earth, and its fee be paid in its currency.
 *
 * @throws RequestRejected (INVALID_VALUES) with a JSON pointer to each fault
 */
export function checkMerchant({
  currency,
  country,
  timeZone,
  fee,
}: Pick<NewMerchant, 'currency' | 'country' | 'timeZone' | 'fee'>): void {
  const known = findCurrency(currency);
  const faults = brokenRules([
    [!known, 'currency', 'no currency of ISO 4217'],
    [!findCountry(country), 'country', 'no country of ISO 3166-1'],
    [!isTimeZone(timeZone), 'timeZone', 'no time zone of the IANA database'],
    [known !== undefined && fee !== null && !isAmount(fee, known), 'fee', 'more decimals than the currency has'],
  ]);
  if (faults.length > 0) throw invalidValues(faults);
}

/** Also false for what JavaScript writes with an exponent, `1e-10`: no currency has so small a unit. */
function isAmount(fee: number, currency: Currency): boolean {
  const plain = /^\d+(?:\.(\d+))?$/.exec(String(fee));
  return plain !== null && (plain[1] ?? '').length <= currency.exponent;
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
