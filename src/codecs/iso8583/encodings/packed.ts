import {
  DIGIT_NIBBLES,
  type PackedDigits,
  packedDigits,
  packedText,
  REFUSED_BYTE,
  REFUSED_CHARACTER,
  writePacked,
} from '../../bytes/digits.ts';
import type { ValueCoding } from './bytes.ts';

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

/** A sign character in ASCII followed by packed digits: `C00000100` in five bytes. `isSign` accepts the valid signs. */
export function signedPackedCoding(isSign: (code: number) => boolean): ValueCoding<string> {
  const digits = packedCoding(packedDigits('left', '0', DIGIT_NIBBLES));
  return {
    wireBytes: (count) => (count === 0 ? 0 : 1 + digits.wireBytes(count - 1)),
    firstWrong(bytes, from, count) {
      if (count === 0) return -1;
      return isSign(bytes[from]!) ? digits.firstWrong(bytes, from + 1, count - 1) : from;
    },
    read: (cursor, from, count) =>
      count === 0 ? '' : cursor.latin1Of(from, from + 1) + digits.read(cursor, from + 1, count - 1),
    write(value, target, at) {
      if (value === '') return -1;
      if (!isSign(value.charCodeAt(0))) return at;
      target[at] = value.charCodeAt(0);
      return digits.write(value.substring(1), target, at + 1);
    },
  };
}
