import type { Cursor } from '../bytes/cursor.ts';
import type { Sink } from '../bytes/sink.ts';
import { HEX_DIGITS } from './encodings/bytes.ts';
import { decodeError, encodeError } from './field-codec.ts';
import type { BinaryEncoding } from './rows.ts';
import type { BitmapLayout } from './spec.ts';

/** Bitmaps of a message: primary, secondary and tertiary (ISO 8583:1987 4.2, ISO 8583:2003 4.2). */
export const MAX_BLOCKS = 3;
export const FIELDS_PER_BLOCK = 64;
const BLOCK_BYTES = 8;
const WORDS_PER_BLOCK = 2;
const FIRST_BIT = 0x80000000 | 0;

/** Which bitmap an error is about: the second and third are fields 1 and 65. */
const BLOCK_PATHS = ['bitmap', '1', '65'] as const;

/**
 * A set of field numbers, 32 to a word, number 1 in the highest bit of the first. A codec owns one and fills it anew for
 * each message.
 */
export type Bits = Int32Array;

export function hasBit(bits: Bits, number: number): boolean {
  return (bits[(number - 1) >> 5]! & (FIRST_BIT >>> ((number - 1) & 31))) !== 0;
}

export function setBit(bits: Bits, number: number): void {
  bits[(number - 1) >> 5]! |= FIRST_BIT >>> ((number - 1) & 31);
}

export function countBits(bits: Bits): number {
  let count = 0;
  for (let word = 0; word < bits.length; word++) {
    // Sums of ever wider groups of bits, side by side in one word.
    let sums = bits[word]!;
    sums -= (sums >>> 1) & 0x55555555;
    sums = (sums & 0x33333333) + ((sums >>> 2) & 0x33333333);
    sums = (sums + (sums >>> 4)) & 0x0f0f0f0f;
    count += Math.imul(sums, 0x01010101) >>> 24;
  }
  return count;
}

/** The bitmaps of a message, ready to be read and written. `bits` never holds the bits that announce a bitmap. */
export interface MessageBitmap {
  read(cursor: Cursor, bits: Bits): void;
  write(sink: Sink, bits: Bits): void;
}

/** `blocks` is how many bitmaps the fields of the spec need. */
export function messageBitmap(layout: BitmapLayout, blocks: number): MessageBitmap {
  const coding = bitmapCoding(layout.encoding);
  return layout.form === 'fixed'
    ? fixedBitmaps(coding, layout.blocks ?? blocks)
    : chainedBitmaps(coding, layout.blocks ?? 1, blocks);
}

function fixedBitmaps(coding: BitmapCoding, blocks: number): MessageBitmap {
  return {
    read(cursor, bits) {
      for (let block = 0; block < blocks; block++) readBlock(coding, cursor, bits, block);
    },
    write(sink, bits) {
      for (let block = 0; block < blocks; block++) writeBlock(coding, sink, bits, block, false);
    },
  };
}

/** The first bit of each bitmap says whether another one follows; the last one's first bit would be a field. */
function chainedBitmaps(coding: BitmapCoding, least: number, most: number): MessageBitmap {
  return {
    read(cursor, bits) {
      bits.fill(0);
      for (let block = 0; ; block++) {
        readBlock(coding, cursor, bits, block);
        const word = block * WORDS_PER_BLOCK;
        if (bits[word]! >= 0 || block + 1 >= most) return;
        bits[word]! &= ~FIRST_BIT;
      }
    },
    write(sink, bits) {
      let last = most - 1;
      while (last >= least && isEmptyBlock(bits, last)) last--;
      for (let block = 0; block <= last; block++) writeBlock(coding, sink, bits, block, block < last);
    },
  };
}

function isEmptyBlock(bits: Bits, block: number): boolean {
  return bits[block * WORDS_PER_BLOCK] === 0 && bits[block * WORDS_PER_BLOCK + 1] === 0;
}

function readBlock(coding: BitmapCoding, cursor: Cursor, bits: Bits, block: number): void {
  readBits(coding, cursor, bits, block * WORDS_PER_BLOCK, BLOCK_BYTES, BLOCK_PATHS[block]!);
}

function writeBlock(coding: BitmapCoding, sink: Sink, bits: Bits, block: number, isContinued: boolean): void {
  const at = sink.position;
  writeBits(coding, sink, bits, block * WORDS_PER_BLOCK, BLOCK_BYTES, BLOCK_PATHS[block]!);
  if (isContinued) coding.writeByte(sink.target, at, (bits[block * WORDS_PER_BLOCK]! >>> 24) | 0x80);
}

/** Reads `lengthBytes` of bitmap into the words from `firstWord` on. No bit announces anything here. */
export function readBits(
  coding: BitmapCoding,
  cursor: Cursor,
  bits: Bits,
  firstWord: number,
  lengthBytes: number,
  path: string,
): void {
  const { bytes, position } = cursor;
  const end = position + lengthBytes * coding.wireBytes;
  if (end > cursor.end) throw decodeError('TRUNCATED', path, position, cursor);
  const wrong = coding.firstWrong(bytes, position, end);
  if (wrong >= 0) throw decodeError('BITMAP_INVALID', path, wrong, cursor);
  for (let byte = 0, at = position; byte < lengthBytes; byte++, at += coding.wireBytes) {
    const word = firstWord + (byte >> 2);
    const value = coding.readByte(bytes, at) << (24 - (byte & 3) * 8);
    bits[word] = (byte & 3) === 0 ? value : bits[word]! | value;
  }
  cursor.position = end;
}

export function writeBits(
  coding: BitmapCoding,
  sink: Sink,
  bits: Bits,
  firstWord: number,
  lengthBytes: number,
  path: string,
): void {
  const { target, position } = sink;
  const end = position + lengthBytes * coding.wireBytes;
  if (end > sink.end) throw encodeError('TARGET_TOO_SMALL', path, position, sink);
  for (let byte = 0, at = position; byte < lengthBytes; byte++, at += coding.wireBytes) {
    coding.writeByte(target, at, (bits[firstWord + (byte >> 2)]! >>> (24 - (byte & 3) * 8)) & 0xff);
  }
  sink.position = end;
}

/** How one byte of a bitmap lies on the wire. */
export interface BitmapCoding {
  /** Bytes on the wire for one byte of bitmap. */
  readonly wireBytes: number;
  /** Where a byte stands that is no part of a bitmap, or -1. */
  firstWrong(bytes: Uint8Array, from: number, to: number): number;
  readByte(bytes: Uint8Array, at: number): number;
  writeByte(target: Uint8Array, at: number, value: number): void;
}

export function bitmapCoding(encoding: BinaryEncoding): BitmapCoding {
  if (encoding === 'binary') return BINARY;
  const { written, values } = HEX_DIGITS[encoding];
  return {
    wireBytes: 2,
    firstWrong(bytes, from, to) {
      for (let at = from; at < to; at++) if (values[bytes[at]!]! < 0) return at;
      return -1;
    },
    readByte: (bytes, at) => (values[bytes[at]!]! << 4) | values[bytes[at + 1]!]!,
    writeByte(target, at, value) {
      target[at] = written[value >> 4]!;
      target[at + 1] = written[value & 0x0f]!;
    },
  };
}

const BINARY: BitmapCoding = {
  wireBytes: 1,
  firstWrong: () => -1,
  readByte: (bytes, at) => bytes[at]!,
  writeByte(target, at, value) {
    target[at] = value;
  },
};
