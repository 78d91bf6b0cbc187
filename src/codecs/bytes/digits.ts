import { DigitError } from '../../basics/errors/codec-errors.ts';
import type { Cursor } from './cursor.ts';

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

/**
 * How a number is written in bytes, the most significant first: each byte is one digit of `radix`. Decimal characters
 * have radix 10, packed decimals 100, plain bytes 256. One function reads them all.
 */
export interface NumberDigits {
  readonly radix: number;
  /** The digit that each byte is; -1 for a byte that is not a digit. */
  readonly values: Int16Array;
  /** The byte of each digit. */
  readonly written: Uint8Array;
}

/** `values` is by byte; `written` is the byte to write for each digit. */
export function numberDigits(written: Uint8Array, digitOf: (byte: number) => number): NumberDigits {
  return { radix: written.length, values: Int16Array.from({ length: 256 }, (_, byte) => digitOf(byte)), written };
}

/** The number from `from` to `to`, or -1. */
export function readNumber({ radix, values }: NumberDigits, bytes: Uint8Array, from: number, to: number): number {
  let number = 0;
  for (let at = from; at < to; at++) {
    const digit = values[bytes[at]!]!;
    if (digit < 0) return -1;
    number = number * radix + digit;
  }
  return number;
}

/** Writes `number` from `from` to `to`; it must fit. */
export function writeNumber(
  { radix, written }: NumberDigits,
  number: number,
  target: Uint8Array,
  from: number,
  to: number,
): void {
  let rest = number;
  for (let at = to - 1; at >= from; at--) {
    // Most lengths are one digit of packed decimals, and then need no division.
    const higher = rest < radix ? 0 : (rest / radix) | 0;
    target[at] = written[rest - higher * radix]!;
    rest = higher;
  }
}

/** Bits of `pairs` and `edges`. */
export const REFUSED_BYTE = 1;
const LETTER_BYTE = 2;
/** In `nibbles`: a character that a value must not contain. */
export const REFUSED_CHARACTER = 0x80;

/** Nibbles that a value may contain, one bit each. */
export const DIGIT_NIBBLES = 0x03ff;

/** Digits and the few letters between them, two per byte, as tables. */
export interface PackedDigits {
  /** Whether an odd number of digits is filled on the left; otherwise it is filled on the right. */
  readonly isLeft: boolean;
  readonly fill: number;
  /** What each byte with two nibbles of a value is: 0 for two digits, or the bits above. */
  readonly pairs: Uint8Array;
  /** The same for the byte with the fill nibble and one of a value. */
  readonly edges: Uint8Array;
  /** The nibble of each character of latin1. */
  readonly nibbles: Uint8Array;
}

/** The tables of each combination: fields share them, and there are about a dozen. */
const known = new Map<string, PackedDigits>();

/** `allowed` are the nibbles of a value, one bit each. */
export function packedDigits(side: 'left' | 'right', fillDigit: '0' | 'F', allowed: number): PackedDigits {
  const key = `${side} ${fillDigit} ${allowed}`;
  let digits = known.get(key);
  if (digits === undefined) {
    digits = tablesOf(side, fillDigit, allowed);
    known.set(key, digits);
  }
  return digits;
}

function tablesOf(side: 'left' | 'right', fillDigit: '0' | 'F', allowed: number): PackedDigits {
  const fill = fillDigit === 'F' ? 0x0f : 0;
  const isLeft = side === 'left';
  const kindOf = (nibble: number) => (((allowed >> nibble) & 1) === 0 ? REFUSED_BYTE : nibble > 9 ? LETTER_BYTE : 0);
  const edgeOf = (filled: number, nibble: number) => (filled === fill ? kindOf(nibble) : REFUSED_BYTE);
  return {
    isLeft,
    fill,
    pairs: Uint8Array.from({ length: 256 }, (_, byte) => kindOf(byte >> 4) | kindOf(byte & 0x0f)),
    edges: Uint8Array.from({ length: 256 }, (_, byte) =>
      isLeft ? edgeOf(byte >> 4, byte & 0x0f) : edgeOf(byte & 0x0f, byte >> 4),
    ),
    nibbles: nibbleTable(allowed),
  };
}

/** `=` is the separator of track 2, like `D`. */
function nibbleTable(allowed: number): Uint8Array {
  const table = new Uint8Array(256).fill(REFUSED_CHARACTER);
  for (let nibble = 0; nibble < 16; nibble++) {
    if (((allowed >> nibble) & 1) === 1) table[nibble.toString(16).toUpperCase().charCodeAt(0)] = nibble;
  }
  table['='.charCodeAt(0)] = table['D'.charCodeAt(0)]!;
  return table;
}

/** The `count` digits at `from`; the cursor moves past them. Undefined, and no move, if they are cut off or not allowed. */
export function readPacked(digits: PackedDigits, cursor: Cursor, from: number, count: number): string | undefined {
  const { bytes } = cursor;
  const { pairs, isLeft } = digits;
  const odd = count & 1;
  const skip = isLeft ? odd : 0;
  const first = from + skip;
  const last = first + (count >> 1);
  const end = from + ((count + 1) >> 1);
  if (end > cursor.end) return undefined;
  let seen = odd === 0 ? 0 : digits.edges[bytes[isLeft ? from : last]!]!;
  for (let at = first; at < last; at++) seen |= pairs[bytes[at]!]!;
  if ((seen & REFUSED_BYTE) !== 0) return undefined;
  cursor.position = end;
  return packedText(digits, cursor, from, count, (seen & LETTER_BYTE) !== 0);
}

/** The `count` digits at `from`, which are known to be allowed. */
export function packedText(
  { isLeft }: PackedDigits,
  cursor: Cursor,
  from: number,
  count: number,
  hasLetters: boolean,
): string {
  const text = cursor.nibbles(from, isLeft ? count & 1 : 0, count);
  return hasLetters ? text.toUpperCase() : text;
}

/** Writes `text` at `from`, two characters per byte; false if one of them is not allowed. */
export function writePacked(digits: PackedDigits, text: string, target: Uint8Array, from: number): boolean {
  const { nibbles, isLeft, fill } = digits;
  const { length } = text;
  let seen = 0;
  let at = from;
  let index = 0;
  if (isLeft && (length & 1) === 1) {
    const code = text.charCodeAt(0);
    const low = nibbles[code & 0xff]!;
    seen = low | (code & 0xff00);
    target[at++] = (fill << 4) | low;
    index = 1;
  }
  for (; index + 1 < length; index += 2) {
    const code = text.charCodeAt(index);
    const next = text.charCodeAt(index + 1);
    const high = nibbles[code & 0xff]!;
    const low = nibbles[next & 0xff]!;
    seen |= high | low | ((code | next) & 0xff00);
    target[at++] = (high << 4) | low;
  }
  if (index < length) {
    const code = text.charCodeAt(index);
    const high = nibbles[code & 0xff]!;
    seen |= high | (code & 0xff00);
    target[at] = (high << 4) | fill;
  }
  return seen < REFUSED_CHARACTER;
}
