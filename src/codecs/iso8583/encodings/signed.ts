import { DIGIT_NIBBLES, packedDigits } from '../../bytes/packed-digits.ts';
import { packedCoding } from './packed.ts';
import type { ValueCoding } from './value-coding.ts';

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
