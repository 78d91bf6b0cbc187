import { Iso8583Error } from '../../basics/errors/codec-errors.ts';
import { Cursor } from '../bytes/cursor.ts';
import type { Sink } from '../bytes/sink.ts';
import { HEX_DIGITS, type HexDigits } from './encodings/bytes.ts';
import { decodeError, encodeError, specError } from './field-codec.ts';
import { leafCodec } from './leaves/leaf-codec.ts';
import type { BinaryEncoding, BinaryField, BitmappedField, TextField } from './rows.ts';
import type { BitmapLayout, Spec } from './spec.ts';

/** Bitmaps of a message: primary, secondary and tertiary (ISO 8583:1987 4.2, ISO 8583:2003 4.2). */
const MAX_BLOCKS = 3;
export const FIELDS_PER_BLOCK = 64;
const BLOCK_BYTES = 8;
const WORDS_PER_BLOCK = 2;
const FIRST_BIT = 0x80000000 | 0;

/** The bitmap that an error names: the second and third are fields 1 and 65. */
const BLOCK_PATHS = ['bitmap', '1', '65'] as const;

/**
 * A set of field numbers, 32 per word, number 1 in the highest bit of the first. A codec owns one and refills it for
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

/** The bitmaps of a message, ready to read and write. `bits` never contains the bits that announce a bitmap. */
export interface MessageBitmap {
  read(cursor: Cursor, bits: Bits): void;
  write(sink: Sink, bits: Bits): void;
}

/** `blocks` is how many bitmaps the fields of the spec need. */
export function messageBitmap(layout: BitmapLayout, blocks: number): MessageBitmap {
  const coding = bitmapCoding(layout.encoding);
  if (layout.form === 'fixed') return fixedBitmaps(coding, layout.blocks ?? blocks);
  const atStart = layout.thirdAt === undefined ? blocks : Math.min(blocks, MAX_BLOCKS - 1);
  return chainedBitmaps(coding, Math.min(layout.blocks ?? 1, atStart), atStart);
}

/** A third bitmap that is the value of a field, between the fields before and after it. */
export interface FieldBitmap {
  /** The number of that field, which has no name and no value of its own. */
  readonly at: number;
  /** Fills the words of the third bitmap. */
  read(cursor: Cursor, bits: Bits): void;
  write(sink: Sink, bits: Bits): void;
  /** Whether a message with these fields needs it. */
  isNeeded(bits: Bits): boolean;
}

/** The third bitmap of a message that has it as a field; undefined for all others. */
export function thirdBitmap({ encoding, thirdAt }: BitmapLayout, blocks: number): FieldBitmap | undefined {
  if (thirdAt === undefined || blocks < MAX_BLOCKS) return undefined;
  const coding = bitmapCoding(encoding);
  const third = MAX_BLOCKS - 1;
  const path = String(thirdAt);
  return {
    at: thirdAt,
    read: (cursor, bits) => readBits(coding, cursor, bits, third * WORDS_PER_BLOCK, BLOCK_BYTES, path),
    write: (sink, bits) => writeBits(coding, sink, bits, third * WORDS_PER_BLOCK, BLOCK_BYTES, path),
    isNeeded: (bits) => !isEmptyBlock(bits, third),
  };
}

/** The bitmap of a composite. @throws {Iso8583Error} SPEC_INVALID */
export function compositeBitmap(
  { bitmap, fields }: BitmappedField,
  byDefault: BinaryEncoding,
  path: string,
): MessageBitmap {
  const { bytes, form, encoding = byDefault } = bitmap;
  const coding = bitmapCoding(encoding);
  const bitmapPath = `${path}.bitmap`;
  if (form !== 'chained') {
    return {
      read: (cursor, bits) => readBits(coding, cursor, bits, 0, bytes, bitmapPath),
      write: (sink, bits) => writeBits(coding, sink, bits, 0, bytes, bitmapPath),
    };
  }
  if (bytes % BLOCK_BYTES !== 0 || bytes > MAX_BLOCKS * BLOCK_BYTES)
    throw specError(path, 'a chained bitmap has at most 8, 16 or 24 bytes');
  const blocks = bytes / BLOCK_BYTES;
  for (let block = 1; block < blocks; block++) {
    const number = (block - 1) * FIELDS_PER_BLOCK + 1;
    if (number in fields) throw specError(`${path}.${number}`, 'this bit announces a bitmap');
  }
  return chainedBitmaps(coding, 1, blocks, [bitmapPath, bitmapPath, bitmapPath]);
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

/** The first bit of each bitmap announces another one; the last one's first bit would be a field. */
function chainedBitmaps(
  coding: BitmapCoding,
  least: number,
  most: number,
  paths: readonly string[] = BLOCK_PATHS,
): MessageBitmap {
  return {
    read(cursor, bits) {
      bits.fill(0);
      for (let block = 0; ; block++) {
        readBlock(coding, cursor, bits, block, paths);
        const word = block * WORDS_PER_BLOCK;
        if (bits[word]! >= 0 || block + 1 >= most) return;
        bits[word]! &= ~FIRST_BIT;
      }
    },
    write(sink, bits) {
      let last = most - 1;
      while (last >= least && isEmptyBlock(bits, last)) last--;
      for (let block = 0; block <= last; block++) writeBlock(coding, sink, bits, block, block < last, paths);
    },
  };
}

function isEmptyBlock(bits: Bits, block: number): boolean {
  return bits[block * WORDS_PER_BLOCK] === 0 && bits[block * WORDS_PER_BLOCK + 1] === 0;
}

function readBlock(
  coding: BitmapCoding,
  cursor: Cursor,
  bits: Bits,
  block: number,
  paths: readonly string[] = BLOCK_PATHS,
): void {
  readBits(coding, cursor, bits, block * WORDS_PER_BLOCK, BLOCK_BYTES, paths[block]!);
}

function writeBlock(
  coding: BitmapCoding,
  sink: Sink,
  bits: Bits,
  block: number,
  isContinued: boolean,
  paths: readonly string[] = BLOCK_PATHS,
): void {
  const word = block * WORDS_PER_BLOCK;
  const first = bits[word]!;
  if (isContinued) bits[word] = first | FIRST_BIT;
  writeBits(coding, sink, bits, word, BLOCK_BYTES, paths[block]!);
  bits[word] = first;
}

/** Reads `lengthBytes` of bitmap into the words from `firstWord` on. No bit announces anything here. */
function readBits(
  coding: BitmapCoding,
  cursor: Cursor,
  bits: Bits,
  firstWord: number,
  lengthBytes: number,
  path: string,
): void {
  const { position } = cursor;
  const end = position + coding.wireBytes * lengthBytes;
  if (end > cursor.end) throw decodeError('TRUNCATED', path, position, cursor);
  const wrong = coding.read(cursor.bytes, position, end, bits, firstWord);
  if (wrong >= 0) throw decodeError('BITMAP_INVALID', path, wrong, cursor);
  cursor.position = end;
}

function writeBits(
  coding: BitmapCoding,
  sink: Sink,
  bits: Bits,
  firstWord: number,
  lengthBytes: number,
  path: string,
): void {
  const { position } = sink;
  const end = position + coding.wireBytes * lengthBytes;
  if (end > sink.end) throw encodeError('TARGET_TOO_SMALL', path, position, sink);
  coding.write(sink.target, position, end, bits, firstWord);
  sink.position = end;
}

/** The encoding of a bitmap. */
interface BitmapCoding {
  /** Encoded bytes per byte of bitmap. */
  readonly wireBytes: number;
  /** Fills words of `bits`; returns the offset of the first byte that is not part of a bitmap, or -1. */
  read(bytes: Uint8Array, from: number, to: number, bits: Bits, firstWord: number): number;
  write(target: Uint8Array, from: number, to: number, bits: Bits, firstWord: number): void;
}

function bitmapCoding(encoding: BinaryEncoding): BitmapCoding {
  return encoding === 'binary' ? BINARY : hexBitmap(HEX_DIGITS[encoding]);
}

const BINARY: BitmapCoding = {
  wireBytes: 1,
  read(bytes, from, to, bits, firstWord) {
    for (let at = from, shift = 24, word = firstWord; at < to; at++) {
      bits[word] = (shift === 24 ? 0 : bits[word]!) | (bytes[at]! << shift);
      if (shift === 0) word++;
      shift = (shift - 8) & 31;
    }
    return -1;
  },
  write(target, from, to, bits, firstWord) {
    for (let at = from, shift = 24, word = firstWord; at < to; at++) {
      target[at] = bits[word]! >>> shift;
      if (shift === 0) word++;
      shift = (shift - 8) & 31;
    }
  },
};

function hexBitmap({ written, values }: HexDigits): BitmapCoding {
  return {
    wireBytes: 2,
    read(bytes, from, to, bits, firstWord) {
      for (let at = from, shift = 28, word = firstWord; at < to; at++) {
        const nibble = values[bytes[at]!]!;
        if (nibble < 0) return at;
        bits[word] = (shift === 28 ? 0 : bits[word]!) | (nibble << shift);
        if (shift === 0) word++;
        shift = (shift - 4) & 31;
      }
      return -1;
    },
    write(target, from, to, bits, firstWord) {
      for (let at = from, shift = 28, word = firstWord; at < to; at++) {
        target[at] = written[(bits[word]! >>> shift) & 0x0f]!;
        if (shift === 0) word++;
        shift = (shift - 4) & 31;
      }
    },
  };
}

/** How many bitmaps the fields of a spec need. */
export function blocksOf(spec: Spec): number {
  const highest = Math.max(0, ...Object.keys(spec.fields).map(Number));
  const needed = Math.max(1, Math.ceil(highest / FIELDS_PER_BLOCK), spec.bitmap.blocks ?? 1);
  if (!(needed <= MAX_BLOCKS)) throw specError('bitmap', `a message has at most ${MAX_BLOCKS} bitmaps`);
  const { form, thirdAt = 65 } = spec.bitmap;
  if (form === 'fixed' && spec.bitmap.thirdAt !== undefined)
    throw specError('bitmap', 'a fixed bitmap has no third part');
  const announcing = form === 'fixed' ? [] : needed === MAX_BLOCKS ? ['1', String(thirdAt)] : ['1'];
  for (const key of announcing) if (key in spec.fields) throw specError(key, 'this bit announces a bitmap');
  return needed;
}

/** The bytes before the MTI, as a field. */
export function headerField({ headerBytes: bytes = 0 }: Spec): BinaryField | undefined {
  if (typeof bytes === 'object') {
    const { lengthOffset, min, max } = bytes;
    return { kind: 'binary', name: 'header', encoding: 'binary', min, max, end: { lengthOffset } };
  }
  return bytes === 0 ? undefined : { kind: 'binary', name: 'header', encoding: 'binary', min: bytes, max: bytes };
}

/** The MTI, as a field. */
export function mtiField({ mti: { encoding } }: Spec): TextField {
  return { kind: 'text', name: 'mti', content: 'n', encoding, min: 4, max: 4, safe: true };
}

/** Reads the MTI of the message from `start` to `end`, and nothing else; undefined if it cannot be read. */
export function mtiReader(spec: Spec): (bytes: Uint8Array, start: number, end: number) => string | undefined {
  const header = headerField(spec);
  const headerCodec = header && leafCodec(header, 'header', spec.encodings);
  const mtiCodec = leafCodec(mtiField(spec), 'mti', spec.encodings);
  return (bytes, start, end) => {
    const cursor = new Cursor(bytes, start, end);
    try {
      headerCodec?.decode(cursor);
      return mtiCodec.decode(cursor) as string;
    } catch (error) {
      if (error instanceof Iso8583Error) return undefined;
      throw error;
    }
  };
}
