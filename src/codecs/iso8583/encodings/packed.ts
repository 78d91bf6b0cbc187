import {
  type PackedDigits,
  packedText,
  REFUSED_BYTE,
  REFUSED_CHARACTER,
  writePacked,
} from '../../bytes/packed-digits.ts';
import type { ValueCoding } from './value-coding.ts';

/** Digits, two per byte. A wrong fill nibble is a fault, because it would not survive a round trip. */
export function packedCoding(digits: PackedDigits): ValueCoding<string> {
  const { isLeft, pairs, edges } = digits;
  return {
    wireBytes: (count) => (count + 1) >> 1,
    firstWrong(bytes, from, count) {
      const isOdd = (count & 1) === 1;
      const first = isOdd && isLeft ? from + 1 : from;
      const last = first + (count >> 1);
      if (isOdd && isLeft && (edges[bytes[from]!]! & REFUSED_BYTE) !== 0) return from;
      for (let at = first; at < last; at++) if ((pairs[bytes[at]!]! & REFUSED_BYTE) !== 0) return at;
      return isOdd && !isLeft && (edges[bytes[last]!]! & REFUSED_BYTE) !== 0 ? last : -1;
    },
    read: (cursor, from, count) => packedText(digits, cursor, from, count, true),
    write: (value, target, at) => (writePacked(digits, value, target, at) ? -1 : at + firstWrongByte(digits, value)),
  };
}

/** The byte, counted from the first of the value, of the first character that is not allowed. */
function firstWrongByte({ nibbles, isLeft }: PackedDigits, value: string): number {
  const isAllowed = (code: number) => code <= 0xff && nibbles[code]! < REFUSED_CHARACTER;
  let index = 0;
  while (index < value.length && isAllowed(value.charCodeAt(index))) index++;
  return (index + (isLeft ? value.length & 1 : 0)) >> 1;
}
