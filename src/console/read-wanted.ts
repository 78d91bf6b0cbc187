import { isLuhnValid } from '../codecs/emv/card.ts';
import type { Wanted } from './store/list-conditions.ts';

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;
/** ISO/IEC 7812-1 allows 8 to 19 digits; issued card numbers have at least 13. */
const PAN = /^\d{13,19}$/;
/** Digits in groups, with the separators of any alphabet. */
const GROUPED_DIGITS = /^\d(?:[\d\p{Z}\p{P}]*\d)?$/u;
/** Digits that follow one another, such as a PAN before its expiry date. */
const DIGITS = /\d{13,}/g;
const MASKED_PAN = /^\d{0,6}\*{3,15}\d{0,4}$/;
const PAN_HASH = /^[\w-]{1,64}:[\w-]{43}$/;
const RRN = /^\d{12}$/;
const STAN = /^\d{6}$/;
const LAST_FOUR = /^\d{4}$/;
/** `000123 T100`, in any order. */
const STAN_FIRST = /^(?<stan>\d{6})[\s,/]+(?<terminal>\S{1,64})$/;
const TERMINAL_FIRST = /^(?<terminal>\S{1,64})[\s,/]+(?<stan>\d{6})$/;
/** `10.00`, `ZAR 10`, `10,5 ZAR`: digits alone are an amount only with a currency. */
const AMOUNT = /^(?<before>[a-z]{3})?\s*(?<major>\d{1,9}(?:[.,]\d{1,4})?)\s*(?<after>[a-z]{3})?$/i;
const HAS_DECIMALS = /[.,]/;
const HAS_LETTER = /\p{L}/u;

/**
 * All possible meanings of the input, most likely first. A PAN is only treated as a PAN, and only `panHashes`
 * receives it.
 *
 * @param panHashes hashes of a PAN under every key of the installation
 */
export function readWanted(text: string, panHashes: (pan: string) => readonly string[]): readonly Wanted[] {
  const plain = text.trim();
  const compact = plain.replace(/[ -]/g, '');
  const pan = readPan(plain);
  if (pan !== undefined) return [{ by: 'panHash', value: panHashes(pan) }];
  const asReference: Wanted = { by: 'reference', value: plain };
  if (UUID.test(plain)) return [{ by: 'id', value: plain.toLowerCase() }, asReference];
  if (PAN_HASH.test(plain)) return [{ by: 'panHash', value: [plain] }, asReference];
  if (MASKED_PAN.test(compact)) return [{ by: 'maskedPan', value: compact }, asReference];
  if (RRN.test(plain)) return [asReference, { by: 'rrn', value: plain }];
  if (STAN.test(plain)) return [asReference, { by: 'stan', value: plain }];
  if (LAST_FOUR.test(plain)) return [asReference, { by: 'lastFour', value: plain }];
  const others = [readAmount(plain), readStanAndTerminal(plain), readMerchantName(plain)];
  return [asReference, ...others.filter((wanted) => wanted !== undefined)];
}

function readPan(text: string): string | undefined {
  const grouped = GROUPED_DIGITS.test(text) ? [text.replace(/\D/g, '')] : [];
  return [...grouped, ...(text.match(DIGITS) ?? [])].find((digits) => PAN.test(digits) && isLuhnValid(digits));
}

function readAmount(text: string): Wanted | undefined {
  const { before, major, after } = AMOUNT.exec(text)?.groups ?? {};
  const currency = before ?? after;
  if (major === undefined || (before && after)) return undefined;
  if (currency === undefined && !HAS_DECIMALS.test(major)) return undefined;
  return { by: 'amount', value: { major: major.replace(',', '.'), currency: currency?.toUpperCase() } };
}

function readStanAndTerminal(text: string): Wanted | undefined {
  const { stan, terminal } = (STAN_FIRST.exec(text) ?? TERMINAL_FIRST.exec(text))?.groups ?? {};
  return stan && terminal ? { by: 'stanAndTerminal', value: { stan, terminal } } : undefined;
}

function readMerchantName(text: string): Wanted | undefined {
  return HAS_LETTER.test(text) ? { by: 'merchantName', value: text } : undefined;
}
