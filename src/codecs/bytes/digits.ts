import { DigitError } from '../../basics/errors/codec-errors.ts';

const ZERO = 0x30;

/** True if `text` has at least one character and only the digits 0 to 9. */
export function isDigits(text: string): boolean {
  for (let position = 0; position < text.length; position++) {
    const digit = text.charCodeAt(position) - ZERO;
    if (digit < 0 || digit > 9) return false;
  }
  return text.length > 0;
}

/**
 * The decimal digits of packed BCD, two a byte, leading zeros kept.
 *
 * @throws {DigitError} NOT_A_DIGIT with the byte offset in `bytes` of a nibble above 9
 */
export function readBcd(bytes: Uint8Array, start = 0, end = bytes.length): string {
  let text = '';
  for (let position = start; position < end; position++) {
    const pair = BCD_PAIRS[bytes[position]!];
    if (pair === undefined) throw new DigitError('NOT_A_DIGIT', position);
    text += pair;
  }
  return text;
}

/** The two digits of each byte whose nibbles are both decimal; empty for the others. */
const BCD_PAIRS = Array.from({ length: 256 }, (_, octet) =>
  octet >> 4 <= 9 && (octet & 0x0f) <= 9 ? `${octet >> 4}${octet & 0x0f}` : undefined,
);

/**
 * Writes digits as packed BCD at `offset`; an odd count gets a zero on the left, as numeric values do.
 *
 * @returns the offset after the last byte written
 * @throws {DigitError} NOT_A_DIGIT with the offset of the character in `digits`
 */
export function writeBcd(digits: string, target: Uint8Array, offset: number): number {
  let high = digits.length % 2 === 1 ? 0 : -1;
  for (let position = 0; position < digits.length; position++) {
    const digit = digits.charCodeAt(position) - ZERO;
    if (digit < 0 || digit > 9) throw new DigitError('NOT_A_DIGIT', position);
    if (high < 0) {
      high = digit;
    } else {
      target[offset++] = (high << 4) | digit;
      high = -1;
    }
  }
  return offset;
}
