import { KIND_OF_LATIN1 } from '../../bytes/character-classes.ts';
import { DIGIT_NIBBLES, type PackedDigits, packedDigits } from '../../bytes/packed-digits.ts';
import { type Content, KINDS_OF_CONTENT, signsOf } from '../content.ts';
import { characterCoding } from '../encodings/characters.ts';
import { packedCoding } from '../encodings/packed.ts';
import { signedPackedCoding } from '../encodings/signed.ts';
import type { ValueCoding } from '../encodings/value-coding.ts';
import { specError } from '../field-codec.ts';
import { type Padding, padTo, stripPadding } from '../padding.ts';
import type { TextEncoding, TextField } from '../rows.ts';
import type { Encodings } from '../spec.ts';
import { type LengthUnits, packedBytes, valueUnits } from './length-units.ts';

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
