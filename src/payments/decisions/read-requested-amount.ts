import { invalidValue, MoneyError } from '../../basics/errors.ts';
import { type Currency, parseAmount } from '../model/money.ts';

const AMOUNT_FAULTS: Readonly<Record<MoneyError['code'], string>> = {
  NOT_AN_AMOUNT: 'must be a decimal amount',
  TOO_MANY_DECIMALS: 'must not have more decimals than the currency',
  AMOUNT_TOO_LARGE: 'must have at most 12 digits',
  UNKNOWN_CURRENCY: 'must be in a currency of ISO 4217',
};

/**
 * Reads an amount that a request names as decimal text in major units.
 *
 * @param name the field of the request, for the pointer of the error
 * @returns minor units, greater than zero
 * @throws RequestRejected (INVALID_VALUES)
 */
export function readRequestedAmount(name: string, text: string, currency: Currency): number {
  try {
    const amountMinor = parseAmount(text, currency);
    if (amountMinor > 0) return amountMinor;
  } catch (error) {
    if (!(error instanceof MoneyError)) throw error;
    throw invalidValue(name, AMOUNT_FAULTS[error.code]);
  }
  throw invalidValue(name, 'must be greater than zero');
}
