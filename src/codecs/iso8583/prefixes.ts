import { type NumberDigits, numberDigits, readNumber, writeNumber } from '../bytes/digits.ts';
import { hexDigit } from '../bytes/hex.ts';
import { LATIN1_TO_EBCDIC } from './encodings/ebcdic.ts';
import { specError } from './field-codec.ts';
import type { Ending, Prefix, PrefixEncoding } from './rows.ts';

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

/** Finds the end of a value that has no length prefix. */
export interface EndCoder {
  /** The offset after the last byte of the value at `at`, or -1 if it does not end before `end`. */
  find(bytes: Uint8Array, at: number, end: number): number;
  /** Whether `find` would return `to` for the bytes from `from` on, once `writeAfter` has run. */
  canEnd(bytes: Uint8Array, from: number, to: number): boolean;
  /** The byte after the value, which is not part of it; undefined if the next value follows directly. */
  readonly delimiter: number | undefined;
}

/** What remains of the composite. Its last row has this ending; others may not. */
const REST: EndCoder = { find: (_bytes, _at, end) => end, canEnd: () => true, delimiter: undefined };

/** @throws {Iso8583Error} SPEC_INVALID */
export function endCoder(ending: Ending, path: string): EndCoder {
  if (ending === 'rest') return REST;
  return 'until' in ending ? delimited(delimiterOf(ending.until, path)) : countsItself(ending.lengthOffset, path);
}

/** A byte that no digit and no letter has in ASCII or EBCDIC, so that values can be masked with these. */
export function delimiterOf(byte: number, path: string): number {
  const isByte = Number.isInteger(byte) && byte >= 0 && byte <= 0xff;
  const isAscii = isByte && /[0-9A-Za-z]/.test(String.fromCharCode(byte));
  const isEbcdic = byte >= 0x81 && (byte & 0x0f) <= 9;
  if (!isByte || isAscii || isEbcdic) throw specError(path, 'a delimiter must be a byte that is no digit or letter');
  return byte;
}

function delimited(delimiter: number): EndCoder {
  const find = (bytes: Uint8Array, at: number, end: number) => {
    for (let index = at; index < end; index++) if (bytes[index] === delimiter) return index;
    return -1;
  };
  return { find, canEnd: (bytes, from, to) => find(bytes, from, to) < 0, delimiter };
}

/** One byte of the value is its length, as in the header of a Visa message. */
function countsItself(offset: number, path: string): EndCoder {
  if (!Number.isInteger(offset) || offset < 0 || offset > 0xff) throw specError(path, 'lengthOffset must be 0 to 255');
  return {
    find(bytes, at, end) {
      const length = at + offset < end ? bytes[at + offset]! : 0;
      return length > offset && at + length <= end ? at + length : -1;
    },
    canEnd: (bytes, from, to) => to - from > offset && bytes[from + offset] === to - from,
    delimiter: undefined,
  };
}
