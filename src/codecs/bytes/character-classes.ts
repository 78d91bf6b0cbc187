/**
 * Determines the kinds of characters in a text with one table look-up per byte and no branch: the kinds of all bytes
 * are OR-ed together and compared once at the end.
 */
export const DIGIT = 1;
export const UPPER = 2;
export const LOWER = 4;
export const SPACE = 8;
/** Printable ASCII except letters, digits, space and `=`. */
export const SPECIAL = 16;
/** `D`: the separator of packed track 2. It has a bit of its own because it is a letter as well. */
export const LETTER_D = 32;
export const EQUALS = 64;
/** Control characters and everything above 0x7E. */
export const OTHER = 128;
export const ANYTHING = 255;

/** The one kind of each character of latin1. */
export const KIND_OF_LATIN1 = Uint8Array.from({ length: 256 }, (_, code) => kindOf(code));

function kindOf(code: number): number {
  if (code >= 0x30 && code <= 0x39) return DIGIT;
  if (code === 0x44) return LETTER_D;
  if (code >= 0x41 && code <= 0x5a) return UPPER;
  if (code >= 0x61 && code <= 0x7a) return LOWER;
  if (code === 0x20) return SPACE;
  if (code === 0x3d) return EQUALS;
  return code > 0x20 && code < 0x7f ? SPECIAL : OTHER;
}

/** The kinds that occur from `from` to `to`, one bit each. `kinds` is the table of the encoding. */
export function kindsOf(bytes: Uint8Array, from: number, to: number, kinds: Uint8Array): number {
  let seen = 0;
  for (let at = from; at < to; at++) seen |= kinds[bytes[at]!]!;
  return seen;
}

/** Position of the first byte whose kind is not allowed; -1 if every kind is allowed. */
export function firstOfOtherKind(
  bytes: Uint8Array,
  from: number,
  to: number,
  kinds: Uint8Array,
  allowed: number,
): number {
  for (let at = from; at < to; at++) if ((kinds[bytes[at]!]! & ~allowed) !== 0) return at;
  return -1;
}
