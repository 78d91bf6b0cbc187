import { hexDigit } from '../bytes/hex.ts';
import { LATIN1_TO_EBCDIC } from './encodings/ebcdic.ts';
import type { Prefix, PrefixEncoding } from './rows.ts';

/** The length prefix of a value, ready to read and write. */
export interface PrefixCoder {
  /** Bytes of the prefix. */
  readonly width: number;
  /** The greatest length that the prefix can express. */
  readonly most: number;
  /** The length at `at`, or -1 if it is not well-formed. The caller has checked the bounds. */
  read(bytes: Uint8Array, at: number): number;
  /** Writes `length`, which is at most `most`. The caller has checked the bounds. */
  write(target: Uint8Array, at: number, length: number): void;
}

const ZERO = 0x30;
/** Digits have the same codes in every page of EBCDIC. */
const EBCDIC_ZERO = LATIN1_TO_EBCDIC.cp500[ZERO]!;
const UPPER_HEX = Uint8Array.from('0123456789ABCDEF', (digit) => digit.charCodeAt(0));

/** `encoding` is that of the spec; a prefix that names its own keeps it. */
export function prefixCoder(prefix: Prefix, encoding: PrefixEncoding): PrefixCoder {
  if (typeof prefix === 'string') return coderOf(encoding, prefix.length);
  return prefix.encoding === 'binary' ? binaryLength(prefix.bytes) : coderOf(prefix.encoding, prefix.digits);
}

function coderOf(encoding: PrefixEncoding, digits: number): PrefixCoder {
  if (encoding === 'binary') return binaryLength(bytesForDigits(digits));
  if (encoding === 'bcd') return packedLength(digits);
  if (encoding === 'hex') return hexLength(digits);
  return decimalLength(digits, encoding === 'ascii' ? ZERO : EBCDIC_ZERO);
}

function decimalLength(width: number, zero: number): PrefixCoder {
  return {
    width,
    most: 10 ** width - 1,
    read(bytes, at) {
      let length = 0;
      for (let position = at; position < at + width; position++) {
        const digit = bytes[position]! - zero;
        if (digit < 0 || digit > 9) return -1;
        length = length * 10 + digit;
      }
      return length;
    },
    write(target, at, length) {
      let rest = length;
      for (let position = at + width - 1; position >= at; position--) {
        target[position] = zero + (rest % 10);
        rest = Math.floor(rest / 10);
      }
    },
  };
}

/** An odd number of digits has a leading zero: LLL takes two bytes. */
function packedLength(digits: number): PrefixCoder {
  const width = Math.ceil(digits / 2);
  const most = 10 ** digits - 1;
  return {
    width,
    most,
    read(bytes, at) {
      let length = 0;
      for (let position = at; position < at + width; position++) {
        const high = bytes[position]! >> 4;
        const low = bytes[position]! & 0x0f;
        if (high > 9 || low > 9) return -1;
        length = length * 100 + high * 10 + low;
      }
      return length <= most ? length : -1;
    },
    write(target, at, length) {
      let rest = length;
      for (let position = at + width - 1; position >= at; position--) {
        target[position] = (Math.floor((rest % 100) / 10) << 4) | (rest % 10);
        rest = Math.floor(rest / 100);
      }
    },
  };
}

function binaryLength(width: number): PrefixCoder {
  return {
    width,
    most: 256 ** width - 1,
    read(bytes, at) {
      let length = 0;
      for (let position = at; position < at + width; position++) length = length * 256 + bytes[position]!;
      return length;
    },
    write(target, at, length) {
      let rest = length;
      for (let position = at + width - 1; position >= at; position--) {
        target[position] = rest & 0xff;
        rest = Math.floor(rest / 256);
      }
    },
  };
}

function hexLength(width: number): PrefixCoder {
  return {
    width,
    most: 16 ** width - 1,
    read(bytes, at) {
      let length = 0;
      for (let position = at; position < at + width; position++) {
        const digit = hexDigit(bytes[position]!);
        if (digit < 0) return -1;
        length = length * 16 + digit;
      }
      return length;
    },
    write(target, at, length) {
      let rest = length;
      for (let position = at + width - 1; position >= at; position--) {
        target[position] = UPPER_HEX[rest & 0x0f]!;
        rest = Math.floor(rest / 16);
      }
    },
  };
}

/** `LL` as a binary number takes the bytes that 99 needs. */
function bytesForDigits(digits: number): number {
  return digits <= 2 ? 1 : digits <= 4 ? 2 : 3;
}
