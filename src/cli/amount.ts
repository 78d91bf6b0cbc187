import { MoneyError, StartError } from '../basics/errors.ts';
import { type Currency, findCurrency, formatAmount, parseAmount } from '../payments/model/money.ts';

/** Checks an amount before anything is sent. @throws StartError BAD_CONFIG naming the option and the fault */
export function checkAmount({ amount, currency: code }: { readonly amount: string; readonly currency: string }): void {
  const currency = findCurrency(code);
  if (currency?.code !== code)
    throw new StartError('BAD_CONFIG', `--currency ${code}: expected a currency code of ISO 4217, such as ZAR`);
  try {
    if (parseAmount(amount, currency) > 0) return;
  } catch (cause) {
    if (!(cause instanceof MoneyError)) throw cause;
    throw new StartError('BAD_CONFIG', `--amount ${amount}: ${faultOf(cause, currency)}`, { cause });
  }
  throw new StartError('BAD_CONFIG', `--amount ${amount}: expected an amount greater than zero`);
}

function faultOf({ code }: MoneyError, { code: currency, exponent }: Currency): string {
  if (code === 'TOO_MANY_DECIMALS') return `${currency} has ${exponent === 0 ? 'no' : exponent} decimals`;
  if (code === 'AMOUNT_TOO_LARGE') return 'an amount has at most 12 digits';
  return 'expected an amount such as 10.00';
}

/** Minor units for a person: `ZAR 10.00`. */
export function showAmount(amountMinor: number, code: string): string {
  const currency = findCurrency(code);
  return currency === undefined
    ? `${code} ${amountMinor} minor units`
    : `${code} ${formatAmount(amountMinor, currency)}`;
}

/** Major units as a number, as webhooks contain them, for a person: 10 -> `ZAR 10.00`. */
export function showMajor(amount: number, code: string): string {
  return `${code} ${amount.toFixed(findCurrency(code)?.exponent)}`;
}
