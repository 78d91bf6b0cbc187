import { KIND_OF_LATIN1, OTHER } from './character-classes.ts';
import type { Cursor } from './cursor.ts';
import { utf8Write } from './native-text.ts';
import type { Sink } from './sink.ts';

const ZERO = 0x30;

/**
 * Longer text is copied natively and checked afterwards: 64 ns instead of 99 at 40 characters (bench: iso8583,
 * "copy").
 */
const SHORT_CHARACTERS = 20;

/**
 * A run of ASCII characters, of fixed length or with a prefix for its length in decimal digits. Six numbers describe any
 * such run, so one function reads them all, 2.5 times as fast as one composed from parts (bench: iso8583, "runs").
 */
export interface TextRun {
  /** Digits of the length prefix; 0 for no prefix. */
  readonly width: number;
  /** Minimum and maximum characters; a run without a length prefix always occupies `max` characters in the message. */
  readonly min: number;
  readonly max: number;
  /** One bit for each kind of character that is not allowed (`character-classes.ts`), and every bit above them. */
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
    for (length = 0; from < lengthEnd; from++) {
      const digit = bytes[from]! - ZERO;
      if (digit < 0 || digit > 9) return undefined;
      length = length * 10 + digit;
    }
    if (length > run.max || length < run.min) return undefined;
  }
  let to = from + length;
  if (to > end) return undefined;
  let seen = 0;
  for (let at = from; at < to; at++) seen |= KIND_OF_LATIN1[bytes[at]!]!;
  if ((seen & run.refused) !== 0) return undefined;
  cursor.position = to;
  if (run.strips) while (to > from && bytes[to - 1] === run.pad) to--;
  return cursor.latin1Of(from, to);
}

/** Writes `text` at the sink, which moves past it. False on any fault; then the sink does not move. */
export function writeTextRun(run: TextRun, text: string, sink: Sink): boolean {
  const { target, position } = sink;
  const { length } = text;
  if (length > run.max || length < run.min) return false;
  const from = position + run.width;
  const to = from + length;
  const end = run.width === 0 ? from + run.max : to;
  if (end > sink.end) return false;
  if ((copyLatin1(text, target, from, run.refused) & run.refused) !== 0) return false;
  for (let at = from - 1, rest = length; at >= position; at--) {
    const tens = Math.floor(rest / 10);
    target[at] = ZERO + rest - tens * 10;
    rest = tens;
  }
  for (let at = to; at < end; at++) target[at] = run.pad;
  sink.position = end;
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
