import type { Cursor } from './cursor.ts';
import { type NumberDigits, type PackedDigits, readNumber, readPacked, writeNumber, writePacked } from './digits.ts';
import { utf8Write } from './native-text.ts';
import type { Sink } from './sink.ts';

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
const OTHER = 128;
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

/**
 * Longer text is copied natively and checked afterwards: 64 ns instead of 99 at 40 characters (bench: iso8583,
 * "copy").
 */
const SHORT_CHARACTERS = 20;

/**
 * A run of ASCII characters or packed digits, of fixed length or with a prefix that counts them. A few numbers and tables
 * describe any such run, so one function reads them all, 2.5 times as fast as one composed from parts (bench: iso8583,
 * "runs"). A message of packed fields takes 0.65 of the time (bench: iso8583, "jPOS, 66 fields, packed").
 */
export interface TextRun {
  /** Bytes of the length prefix; 0 for no prefix. */
  readonly width: number;
  /** How that prefix is written. */
  readonly prefix: NumberDigits;
  /** Present for packed digits; then `refused`, `pad` and `strips` are not used. */
  readonly packed: PackedDigits | undefined;
  /** Minimum and maximum characters; a run without a length prefix always occupies `max` characters in the message. */
  readonly min: number;
  readonly max: number;
  /** One bit for each kind of character that is not allowed (`text-run.ts`), and every bit above them. */
  readonly refused: number;
  /** The byte that pads a run without a length prefix on the right up to `max`; 0 for no padding. */
  readonly pad: number;
  /** Whether reading removes that byte. */
  readonly strips: boolean;
}

/** The text at the cursor, which moves past it. Undefined on any fault; then the cursor does not move. */
export function readTextRun(run: TextRun, cursor: Cursor): string | undefined {
  const { bytes, end } = cursor;
  let from = cursor.position;
  let length = run.max;
  if (run.width > 0) {
    const lengthEnd = from + run.width;
    if (lengthEnd > end) return undefined;
    length = readNumber(run.prefix, bytes, from, lengthEnd);
    from = lengthEnd;
    if (length > run.max || length < run.min) return undefined;
  }
  return run.packed === undefined
    ? readCharacters(run, cursor, from, length)
    : readPacked(run.packed, cursor, from, length);
}

function readCharacters(run: TextRun, cursor: Cursor, from: number, length: number): string | undefined {
  const { bytes } = cursor;
  let to = from + length;
  if (to > cursor.end) return undefined;
  if ((run.refused & ANYTHING) !== 0) {
    let seen = 0;
    for (let at = from; at < to; at++) seen |= KIND_OF_LATIN1[bytes[at]!]!;
    if ((seen & run.refused) !== 0) return undefined;
  }
  cursor.position = to;
  if (run.strips) while (to > from && bytes[to - 1] === run.pad) to--;
  return cursor.latin1Of(from, to);
}

/** Writes `text` at the sink, which moves past it. False on any fault; then the sink does not move. */
export function writeTextRun(run: TextRun, text: string, sink: Sink): boolean {
  const { position } = sink;
  const { length } = text;
  const { width, max } = run;
  if (length > max || length < run.min) return false;
  const from = position + width;
  const occupied = run.packed !== undefined ? (length + 1) >> 1 : width === 0 ? max : length;
  const end = from + occupied;
  if (end > sink.end) return false;
  const { target } = sink;
  const isWritten =
    run.packed === undefined
      ? writeCharacters(run, text, target, from, end)
      : writePacked(run.packed, text, target, from);
  if (!isWritten) return false;
  if (width > 0) writeNumber(run.prefix, length, target, position, from);
  sink.position = end;
  return true;
}

function writeCharacters(run: TextRun, text: string, target: Uint8Array, from: number, end: number): boolean {
  if ((copyLatin1(text, target, from, run.refused) & run.refused) !== 0) return false;
  for (let at = from + text.length; at < end; at++) target[at] = run.pad;
  return true;
}

/**
 * Copies `text`, one byte per character, and returns the kinds of its characters. A character outside latin1 sets a
 * bit above all kinds. If one of the kinds is in `refused`, the copied bytes are meaningless.
 */
export function copyLatin1(text: string, target: Uint8Array, from: number, refused: number): number {
  const { length } = text;
  let seen = 0;
  if (length >= SHORT_CHARACTERS && (refused & OTHER) !== 0) {
    // In UTF-8 a character outside ASCII takes bytes of the kind OTHER, and is refused as required.
    // One that no longer fits is left out, and the byte in its place is that of an earlier message.
    if (utf8Write.call(target, text, from, length) < length) return OTHER;
    for (let at = from; at < from + length; at++) seen |= KIND_OF_LATIN1[target[at]!]!;
    return seen;
  }
  for (let index = 0; index < length; index++) {
    const code = text.charCodeAt(index);
    seen |= KIND_OF_LATIN1[code & 0xff]! | (code & 0xff00);
    target[from + index] = code;
  }
  return seen;
}
