import { MoneyError } from '../../basics/errors.ts';

/**
 * Money is an integer of minor units with the exponent of its currency (ISO 4217). Amounts have at most 12 digits,
 * the width of DE4, and are therefore exact in a double.
 */
export interface Currency {
  readonly code: string;
  /** Three digits, as DE49 and tag 5F2A carry them. */
  readonly numeric: string;
  /** Decimals of the major unit: 0 for JPY, 3 for BHD, 4 for CLF. */
  readonly exponent: 0 | 2 | 3 | 4;
}

export const MAX_AMOUNT_MINOR = 999_999_999_999;

// ISO 4217, currencies in circulation and the units of account CLF and UYW: code, number, and the exponent if it is not 2.
const TABLE = `AED784 AFN971 ALL008 AMD051 AOA973 ARS032 AUD036 AWG533 AZN944 BAM977 BBD052 BDT050 BHD048:3 BIF108:0
BMD060 BND096 BOB068 BRL986 BSD044 BTN064 BWP072 BYN933 BZD084 CAD124 CDF976 CHF756 CLF990:4 CLP152:0 CNY156 COP170 CRC188
CUP192 CVE132 CZK203 DJF262:0 DKK208 DOP214 DZD012 EGP818 ERN232 ETB230 EUR978 FJD242 FKP238 GBP826 GEL981 GHS936
GIP292 GMD270 GNF324:0 GTQ320 GYD328 HKD344 HNL340 HTG332 HUF348 IDR360 ILS376 INR356 IQD368:3 IRR364 ISK352:0 JMD388
JOD400:3 JPY392:0 KES404 KGS417 KHR116 KMF174:0 KPW408 KRW410:0 KWD414:3 KYD136 KZT398 LAK418 LBP422 LKR144 LRD430
LSL426 LYD434:3 MAD504 MDL498 MGA969 MKD807 MMK104 MNT496 MOP446 MRU929 MUR480 MVR462 MWK454 MXN484 MYR458 MZN943
NAD516 NGN566 NIO558 NOK578 NPR524 NZD554 OMR512:3 PAB590 PEN604 PGK598 PHP608 PKR586 PLN985 PYG600:0 QAR634 RON946
RSD941 RUB643 RWF646:0 SAR682 SBD090 SCR690 SDG938 SEK752 SGD702 SHP654 SLE925 SOS706 SRD968 SSP728 STN930 SVC222
SYP760 SZL748 THB764 TJS972 TMT934 TND788:3 TOP776 TRY949 TTD780 TWD901 TZS834 UAH980 UGX800:0 USD840 UYU858 UYW927:4 UZS860
VED926 VES928 VND704:0 VUV548:0 WST882 XAF950:0 XCD951 XCG532 XOF952:0 XPF953:0 YER886 ZAR710 ZMW967 ZWG924`;

const byCode = new Map<string, Currency>();
const byNumeric = new Map<string, Currency>();
for (const entry of TABLE.split(/\s+/)) {
  const exponent = Number(entry.slice(7) || 2) as Currency['exponent'];
  const currency: Currency = { code: entry.slice(0, 3), numeric: entry.slice(3, 6), exponent };
  byCode.set(currency.code, currency);
  byNumeric.set(currency.numeric, currency);
}

/** Finds a currency from its letters (`ZAR`) or digits (`710`); undefined if no currency has this code. */
export function findCurrency(codeOrNumeric: string): Currency | undefined {
  return byCode.get(codeOrNumeric) ?? byNumeric.get(codeOrNumeric);
}

/** @throws MoneyError UNKNOWN_CURRENCY */
export function currencyOf(code: string): Currency {
  const currency = byCode.get(code);
  if (!currency) throw new MoneyError('UNKNOWN_CURRENCY');
  return currency;
}

/**
 * Parses decimal text (`10.00`, `10`) into minor units.
 *
 * @throws MoneyError NOT_AN_AMOUNT for anything but plain decimals, TOO_MANY_DECIMALS for more decimals than the
 * currency has, AMOUNT_TOO_LARGE above 12 digits
 */
export function parseAmount(text: string, currency: Currency): number {
  const match = /^(\d{1,13})(?:\.(\d{1,6}))?$/.exec(text);
  if (!match) throw new MoneyError('NOT_AN_AMOUNT');
  const [, major, decimals = ''] = match as unknown as [string, string, string?];
  if (decimals.length > currency.exponent) throw new MoneyError('TOO_MANY_DECIMALS');
  const amountMinor = Number(major + decimals.padEnd(currency.exponent, '0'));
  if (amountMinor > MAX_AMOUNT_MINOR) throw new MoneyError('AMOUNT_TOO_LARGE');
  return amountMinor;
}

/** Minor units as decimal text: 1000 ZAR -> `10.00`, 1000 JPY -> `1000`. */
export function formatAmount(amountMinor: number, currency: Currency): string {
  const digits = String(amountMinor).padStart(currency.exponent + 1, '0');
  if (currency.exponent === 0) return digits;
  return `${digits.slice(0, -currency.exponent)}.${digits.slice(-currency.exponent)}`;
}
