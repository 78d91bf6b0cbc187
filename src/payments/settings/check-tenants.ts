import type { NewMerchant } from '#schemas/admin-tenants';
import { brokenRules, invalidValues } from '../../basics/errors.ts';
import { findCountry } from '../model/countries.ts';
import { type Currency, findCurrency } from '../model/money.ts';

/**
 * Checks that a merchant's country and time zone exist, and that its fee is an amount in its currency.
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
    [!known, 'currency', 'must be a currency of ISO 4217'],
    [!findCountry(country), 'country', 'must be a country of ISO 3166-1'],
    [!isTimeZone(timeZone), 'timeZone', 'must be a time zone of the IANA database'],
    [
      known !== undefined && fee !== null && !isAmount(fee, known),
      'fee',
      'must not have more decimals than the currency',
    ],
  ]);
  if (faults.length > 0) throw invalidValues(faults);
}

/** Also false for numbers that JavaScript writes with an exponent, such as `1e-10`: no currency has so small a unit. */
function isAmount(fee: number, currency: Currency): boolean {
  const plain = /^\d+(?:\.(\d+))?$/.exec(String(fee));
  return plain !== null && (plain[1] ?? '').length <= currency.exponent;
}

/** Accepts names only. The runtime also accepts offsets (`+02:00`), which have no daylight saving time. */
function isTimeZone(name: string): boolean {
  if (!/^[A-Za-z]/.test(name)) return false;
  try {
    return new Intl.DateTimeFormat('en', { timeZone: name }) !== undefined;
  } catch {
    return false;
  }
}
