import { DIGIT_NIBBLES, type PackedDigits, packedDigits } from '../../bytes/digits.ts';
import { KIND_OF_LATIN1 } from '../../bytes/text-run.ts';
import type { ValueCoding } from '../encodings/bytes.ts';
import { characterCoding } from '../encodings/characters.ts';
import { packedCoding, signedPackedCoding } from '../encodings/packed.ts';
import { specError } from '../field-codec.ts';
import {
  type Content,
  KINDS_OF_CONTENT,
  type Padding,
  padTo,
  signsOf,
  stripPadding,
  type TextEncoding,
  type TextField,
} from '../rows.ts';
import type { Encodings } from '../spec.ts';

/** Converts between the number in a prefix and the length of a value, depending on what the prefix counts. */
export interface LengthUnits {
  /** The prefix of a value of `count`. */
  toLength(count: number): number;
  /** Encoded bytes after a prefix of `length`. */
  wireBytes(length: number): number;
  /** Length of the value at `from` after a prefix of `length`; -1 if no value has that length. */
  toCount(length: number, bytes: Uint8Array, from: number): number;
}

/** Characters of text, bytes of anything else. */
export function valueUnits(coding: Pick<ValueCoding<never>, 'wireBytes'>): LengthUnits {
  return { toLength: (count) => count, wireBytes: coding.wireBytes, toCount: (length) => length };
}

/** Bytes, counted in half bytes. */
export function halfBytes(coding: Pick<ValueCoding<never>, 'wireBytes'>): LengthUnits {
  return {
    toLength: (count) => count * 2,
    wireBytes: (length) => coding.wireBytes((length + 1) >> 1),
    toCount: (length) => ((length & 1) === 0 ? length >> 1 : -1),
  };
}

/**
 * Packed digits, counted in the bytes that they take. A fill nibble `F` shows that the count is odd. A `0` cannot be
 * distinguished from a digit, so an odd count filled with `0` is decoded with the fill, unless it would then exceed
 * `max`.
 */
function packedBytes(side: 'left' | 'right', fill: '0' | 'F', max: number): LengthUnits {
  return {
    toLength: (count) => (count + 1) >> 1,
    wireBytes: (length) => length,
    toCount(length, bytes, from) {
      const most = Math.min(length * 2, max);
      if (fill === '0' || length === 0) return most;
      const edge = side === 'left' ? bytes[from]! >> 4 : bytes[from + length - 1]! & 0x0f;
      return edge === 0x0f ? length * 2 - 1 : most;
    },
  };
}

/** The parts of a field that is not a composite. */
export interface LeafParts<Value> {
  readonly coding: ValueCoding<Value>;
  readonly units: LengthUnits;
  /** A check beyond kinds of characters: the index of the first wrong character, or -1. */
  readonly firstWrong?: ((value: Value) => number) | undefined;
  /** Pads a value to `min`. */
  readonly pad?: ((value: Value) => Value) | undefined;
  readonly strip?: ((value: Value) => Value) | undefined;
}

/** Contents that consist of nibbles 0 to 9, except `D` of track 2. */
const PACKABLE: readonly Content[] = ['n', 'z'];
/** The separator of track 2: `D` or `=` in text. */
const SEPARATOR_NIBBLE = 1 << 0x0d;
const FILL_NIBBLE = 1 << 0x0f;

/** Combines the parts of a text field: encoding, unit of length, content and padding are independent of each other. */
export function textParts(field: TextField, path: string, encodings: Encodings): LeafParts<string> {
  const encoding = field.encoding ?? defaultEncoding(field.content, encodings);
  const coding = textCoding(field, encoding, path);
  const { content, pad } = field;
  const isInBytes = isPacked(encoding) && (field.unit === 'bytes' || field.end !== undefined);
  if (encoding === 'x+bcd' && field.end !== undefined) throw specError(path, 'a packed signed number needs a prefix');
  const units = isInBytes
    ? packedBytes(encoding === 'bcd' ? 'left' : 'right', fillOf(field), field.max)
    : valueUnits(coding);
  const signs = signsOf(content);
  const firstWrong = signs && ((value: string) => firstWrongOfSigned(value, signs));
  if (pad === undefined) return { coding, units, firstWrong };
  if (pad.with.length !== 1) throw specError(path, 'its padding is not one character');
  return {
    coding,
    units,
    firstWrong: (value) => firstWrongOfPadded(value, content, pad, firstWrong),
    pad: (value) => padTo(value, field.min, pad),
    strip: pad.strip === true ? (value) => stripPadding(value, pad) : undefined,
  };
}

function textCoding(field: TextField, encoding: TextEncoding, path: string): ValueCoding<string> {
  const { content, pad } = field;
  if (isPacked(encoding)) {
    if (!PACKABLE.includes(content)) throw specError(path, `content ${content} cannot be packed`);
    return packedCoding(packedDigitsOf(field, encoding));
  }
  if (encoding === 'x+bcd') {
    const signs = signsOf(content);
    if (signs === undefined && content !== 'n') throw specError(path, `content ${content} cannot be a signed number`);
    return signedPackedCoding(signs === undefined ? isDigit : (code) => signs.includes(code));
  }
  const kindOfPad = pad === undefined ? 0 : KIND_OF_LATIN1[pad.with.charCodeAt(0) & 0xff]!;
  return characterCoding(encoding, KINDS_OF_CONTENT[content] | kindOfPad);
}

export function packedDigitsOf(field: TextField, encoding: 'bcd' | 'bcd-right'): PackedDigits {
  const { content, pad } = field;
  const allowed = DIGIT_NIBBLES | (content === 'z' ? SEPARATOR_NIBBLE : 0) | (pad?.with === 'F' ? FILL_NIBBLE : 0);
  return packedDigits(encoding === 'bcd' ? 'left' : 'right', fillOf(field), allowed);
}

export function isPacked(encoding: TextEncoding): encoding is 'bcd' | 'bcd-right' {
  return encoding === 'bcd' || encoding === 'bcd-right';
}

function fillOf(field: TextField): '0' | 'F' {
  return field.fill ?? (field.content === 'z' ? 'F' : '0');
}

export function defaultEncoding(content: Content, encodings: Encodings): TextEncoding {
  if (content === 'n' || content === 'z') return encodings.digits;
  return signsOf(content) === undefined ? encodings.text : encodings.signed;
}

const ZERO = 0x30;

function isDigit(code: number): boolean {
  return code >= ZERO && code <= ZERO + 9;
}

function firstWrongOfSigned(value: string, signs: readonly number[]): number {
  if (value !== '' && !signs.includes(value.charCodeAt(0))) return 0;
  for (let index = 1; index < value.length; index++) if (!isDigit(value.charCodeAt(index))) return index;
  return -1;
}

/** The pad character is allowed only on its side, unless the content includes it anyway. */
function firstWrongOfPadded(
  value: string,
  content: Content,
  pad: Padding,
  firstWrongOfSigned: ((value: string) => number) | undefined,
): number {
  const stripped = stripPadding(value, pad);
  const from = pad.side === 'left' ? value.length - stripped.length : 0;
  if (firstWrongOfSigned !== undefined) {
    const index = firstWrongOfSigned(stripped);
    return index < 0 ? -1 : from + index;
  }
  const allowed = KINDS_OF_CONTENT[content];
  for (let index = 0; index < stripped.length; index++) {
    if ((KIND_OF_LATIN1[stripped.charCodeAt(index)]! & ~allowed) !== 0) return from + index;
  }
  return -1;
}
