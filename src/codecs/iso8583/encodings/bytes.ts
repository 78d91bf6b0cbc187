import type { Cursor } from '../../bytes/cursor.ts';
import { hexDigit } from '../../bytes/hex.ts';
import type { BinaryEncoding } from '../rows.ts';
import { LATIN1_TO_EBCDIC } from './ebcdic.ts';

/** Bytes, as they are or as hex digits. Values that are read are views of the message, not copies. */
export function byteCoding(encoding: BinaryEncoding): ValueCoding<Uint8Array> {
  return encoding === 'binary' ? RAW : HEX[encoding];
}

const RAW: ValueCoding<Uint8Array> = {
  wireBytes: (count) => count,
  firstWrong: () => -1,
  read: (cursor, from, count) => cursor.view(from, from + count),
  write(value, target, at) {
    // Fields of eight bytes are usual, and a loop has written them before `set` has checked its arguments.
    for (let index = 0; index < value.length; index++) target[at + index] = value[index]!;
    return -1;
  },
};

/** The digits of an encoding in hex: the sixteen bytes that are written, and the value of every byte that is read. */
export interface HexDigits {
  readonly written: Uint8Array;
  /** -1 for a byte that is no digit. Both cases are read. */
  readonly values: Int8Array;
}

type HexEncoding = Exclude<BinaryEncoding, 'binary'>;

const ASCII_CODES = Uint8Array.from({ length: 256 }, (_, code) => code);

export const HEX_DIGITS: Readonly<Record<HexEncoding, HexDigits>> = {
  hex: hexDigits('0123456789ABCDEF', ASCII_CODES),
  'hex-lower': hexDigits('0123456789abcdef', ASCII_CODES),
  'ebcdic-hex': hexDigits('0123456789ABCDEF', LATIN1_TO_EBCDIC.cp500),
};

const HEX: Readonly<Record<HexEncoding, ValueCoding<Uint8Array>>> = {
  hex: hexCoding(HEX_DIGITS.hex),
  'hex-lower': hexCoding(HEX_DIGITS['hex-lower']),
  'ebcdic-hex': hexCoding(HEX_DIGITS['ebcdic-hex']),
};

function hexDigits(digits: string, codes: Uint8Array): HexDigits {
  const values = new Int8Array(256).fill(-1);
  for (let code = 0; code < 0x80; code++) if (hexDigit(code) >= 0) values[codes[code]!] = hexDigit(code);
  return { written: Uint8Array.from(digits, (digit) => codes[digit.charCodeAt(0)]!), values };
}

function hexCoding({ written, values }: HexDigits): ValueCoding<Uint8Array> {
  return {
    wireBytes: (count) => count * 2,
    firstWrong(bytes, from, count) {
      for (let at = from; at < from + count * 2; at++) if (values[bytes[at]!]! < 0) return at;
      return -1;
    },
    read({ bytes }, from, count) {
      const value = new Uint8Array(count);
      for (let index = 0; index < count; index++) {
        value[index] = (values[bytes[from + index * 2]!]! << 4) | values[bytes[from + index * 2 + 1]!]!;
      }
      return value;
    },
    write(value, target, at) {
      for (let index = 0; index < value.length; index++) {
        target[at + index * 2] = written[value[index]! >> 4]!;
        target[at + index * 2 + 1] = written[value[index]! & 0x0f]!;
      }
      return -1;
    },
  };
}

/**
 * The byte encoding of one field's values, without length and padding. Only the value itself is allocated. The
 * caller passes the position to read or write, and has checked the bounds.
 *
 * `count` is the length of a value: characters of text, bytes of anything else.
 */
export interface ValueCoding<Value> {
  /** Encoded bytes of a value of that length. */
  wireBytes(count: number): number;
  /** Position of the first wrong byte of a value, or -1. */
  firstWrong(bytes: Uint8Array, from: number, count: number): number;
  /** The value at `from`, which `firstWrong` has accepted. */
  read(cursor: Cursor, from: number, count: number): Value;
  /** Writes a value; returns the offset in `target` of its first wrong character, or -1. */
  write(value: Value, target: Uint8Array, at: number): number;
}
