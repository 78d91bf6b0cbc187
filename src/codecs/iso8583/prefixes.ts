import { hexDigit } from '../bytes/hex.ts';
import { type NumberDigits, numberDigits, readNumber, writeNumber } from '../bytes/number-digits.ts';
import { LATIN1_TO_EBCDIC } from './encodings/ebcdic.ts';
import type { Prefix, PrefixEncoding } from './rows.ts';

/** The length prefix of a value, ready to read and write. */
export interface PrefixCoder {
  /** Bytes of the prefix. */
  readonly width: number;
  /** The greatest length that the prefix can express. */
  readonly most: number;
  /** How its digits are written, the most significant first; undefined for a little-endian number. */
  readonly digits: NumberDigits | undefined;
  /** The length at `at`, or -1 if it is not well-formed. The caller has checked the bounds. */
  read(bytes: Uint8Array, at: number): number;
  /** Writes `length`, which is at most `most`. The caller has checked the bounds. */
  write(target: Uint8Array, at: number, length: number): void;
}

const TEN = Uint8Array.from('0123456789', (digit) => digit.charCodeAt(0));
/** Digits have the same codes in every page of EBCDIC. */
const TEN_EBCDIC = TEN.map((code) => LATIN1_TO_EBCDIC.cp500[code]!);
const HUNDRED = Uint8Array.from({ length: 100 }, (_, number) => (Math.floor(number / 10) << 4) | (number % 10));
const UPPER_HEX = Uint8Array.from('0123456789ABCDEF', (digit) => digit.charCodeAt(0));

export const DECIMAL_DIGITS = numberDigits(TEN, (byte) => TEN.indexOf(byte));
const EBCDIC = numberDigits(TEN_EBCDIC, (byte) => TEN_EBCDIC.indexOf(byte));
const PACKED = numberDigits(HUNDRED, (byte) => HUNDRED.indexOf(byte));
const HEX = numberDigits(UPPER_HEX, hexDigit);
const BINARY = numberDigits(
  Uint8Array.from({ length: 256 }, (_, byte) => byte),
  (byte) => byte,
);

/** `encoding` is that of the spec; a prefix that names its own keeps it. */
export function prefixCoder(prefix: Prefix, encoding: PrefixEncoding): PrefixCoder {
  if (typeof prefix === 'string') return coderOf(encoding, prefix.length);
  if ('digits' in prefix) return coderOf(prefix.encoding, prefix.digits);
  return prefix.encoding === 'binary' ? binaryLength(prefix.bytes) : littleEndian(prefix.bytes);
}

function coderOf(encoding: PrefixEncoding, digits: number): PrefixCoder {
  if (encoding === 'binary') return binaryLength(bytesForDigits(digits));
  // An odd number of packed digits has a leading zero: LLL takes two bytes.
  if (encoding === 'bcd') return coder(PACKED, Math.ceil(digits / 2), 10 ** digits - 1);
  if (encoding === 'hex') return coder(HEX, digits, 16 ** digits - 1);
  return coder(encoding === 'ascii' ? DECIMAL_DIGITS : EBCDIC, digits, 10 ** digits - 1);
}

function binaryLength(width: number): PrefixCoder {
  return coder(BINARY, width, 256 ** width - 1);
}

function littleEndian(width: number): PrefixCoder {
  return {
    width,
    most: 256 ** width - 1,
    digits: undefined,
    read(bytes, at) {
      let length = 0;
      for (let index = at + width - 1; index >= at; index--) length = length * 256 + bytes[index]!;
      return length;
    },
    write(target, at, length) {
      for (let index = at, rest = length; index < at + width; index++, rest = Math.floor(rest / 256))
        target[index] = rest & 0xff;
    },
  };
}

function coder(digits: NumberDigits, width: number, most: number): PrefixCoder {
  return {
    width,
    most,
    digits,
    read(bytes, at) {
      const length = readNumber(digits, bytes, at, at + width);
      return length <= most ? length : -1;
    },
    write: (target, at, length) => writeNumber(digits, length, target, at, at + width),
  };
}

/** `LL` as a binary number takes the bytes that 99 needs. */
function bytesForDigits(digits: number): number {
  return digits <= 2 ? 1 : digits <= 4 ? 2 : 3;
}
