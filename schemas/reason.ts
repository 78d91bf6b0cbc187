import { plainText } from './plain-text.ts';

const MAX_REASON_CHARS = 500;
/** ISO/IEC 7812-1: a card number has at most 19 digits; those in use have at least 13. */
const MIN_PAN_DIGITS = 13;
const MAX_PAN_DIGITS = 19;

/** Groups of digits as people write card numbers, with anything but letters between them. */
const DIGIT_GROUPS = /\d+(?:[^\p{L}\d]+\d+)*/gu;

/**
 * Whether a text may contain a card number: a run of 13 or more digits, or neighbouring groups of digits that together
 * pass the Luhn check. An RRN has 12 digits and a STAN 6, so people can name both.
 */
export function mayContainPan(text: string): boolean {
  const plain = text.normalize('NFKC').replace(/\p{Nd}/gu, toAsciiDigit);
  for (const [run] of plain.matchAll(DIGIT_GROUPS)) {
    const groups = run.split(/\D+/);
    if (groups.some((group) => group.length >= MIN_PAN_DIGITS)) return true;
    for (let from = 0; from < groups.length; from++) {
      for (let to = from + 1; to <= groups.length; to++) {
        const digits = groups.slice(from, to).join('');
        if (digits.length > MAX_PAN_DIGITS) break;
        if (digits.length >= MIN_PAN_DIGITS && passesLuhn(digits)) return true;
      }
    }
  }
  return false;
}

/** Decimal digits of each script are ten consecutive characters. */
function toAsciiDigit(digit: string): string {
  const code = digit.codePointAt(0)!;
  let zero = code;
  while (/\p{Nd}/u.test(String.fromCodePoint(zero - 1)) && code - zero < 9) zero--;
  return String(code - zero);
}

function passesLuhn(digits: string): boolean {
  let sum = 0;
  for (const [index, character] of [...digits].reverse().entries()) {
    const digit = Number(character) * (1 + (index % 2));
    sum += digit > 9 ? digit - 9 : digit;
  }
  return sum % 10 === 0;
}

/** Text in a person's own words that is stored: it must never contain a card number. */
export const textWithoutPan = (maxChars: number) =>
  plainText(maxChars).refine((text) => !mayContainPan(text), 'must not contain a card number');

/** Why a person does something, kept for as long as the audit trail. */
export const reason = textWithoutPan(MAX_REASON_CHARS);
