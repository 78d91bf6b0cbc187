import type { Cursor } from './cursor.ts';

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
