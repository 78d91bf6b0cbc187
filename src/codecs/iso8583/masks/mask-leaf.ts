import type { Cursor } from '../../bytes/cursor.ts';
import { blankPan, blankTrack2 } from '../../emv/card.ts';
import { HEX_DIGITS, type ValueCoding } from '../encodings/bytes.ts';
import { leafVisitor } from '../leaves/leaf-codec.ts';
import { textParts } from '../leaves/leaf-parts.ts';
import { type BinaryField, type Padding, padTo, signsOf, stripPadding, type TextField } from '../rows.ts';
import type { Encodings } from '../spec.ts';

/** The primary account number, in every version of the standard. */
const PAN = '2';

/**
 * Leaves a value unchanged if it may be shown, and overwrites any other one with bytes that decode to a value of its
 * length.
 */
export function leafMask(field: TextField | BinaryField, path: string, encodings: Encodings): Mask {
  if (field.safe === true) return leafVisitor(field, path, encodings, moveOn);
  return field.kind === 'text' ? textMask(field, path, encodings) : bytesMask(field, path, encodings);
}

function moveOn(cursor: Cursor, _from: number, to: number): void {
  cursor.position = to;
}

function bytesMask(field: BinaryField, path: string, encodings: Encodings): Mask {
  const encoding = field.encoding ?? encodings.binary;
  return filled(field, path, encodings, encoding === 'binary' ? 0 : HEX_DIGITS[encoding].written[0]!);
}

function filled(field: TextField | BinaryField, path: string, encodings: Encodings, byte: number): Mask {
  // The length that is part of the value stays.
  const at = typeof field.end === 'object' && 'lengthOffset' in field.end ? field.end.lengthOffset : undefined;
  return leafVisitor(field, path, encodings, (cursor, from, to) => {
    const length = at === undefined ? 0 : cursor.bytes[from + at]!;
    cursor.bytes.fill(byte, from, to);
    if (at !== undefined) cursor.bytes[from + at] = length;
    cursor.position = to;
  });
}

function textMask(field: TextField, path: string, encodings: Encodings): Mask {
  const { coding } = textParts(field, path, encodings);
  const masked = maskedText(field, path);
  const letter = masked === undefined ? oneByte(coding, fillerOf(field)) : undefined;
  if (letter !== undefined) return filled(field, path, encodings, letter);
  const blank = masked ?? ((text) => fillerOf(field).repeat(text.length));
  return leafVisitor(field, path, encodings, (cursor, from, to, count) => {
    const text = coding.read(cursor, from, count);
    // The value is erased even if the next line fails.
    cursor.bytes.fill(0, from, to);
    coding.write(blank(text), cursor.bytes, from);
    cursor.position = to;
  });
}

/** The byte of a character; undefined if characters are not single bytes. */
function oneByte(coding: ValueCoding<string>, character: string): number | undefined {
  const byte = new Uint8Array(1);
  return coding.wireBytes(2) === 2 && coding.write(character, byte, 0) < 0 ? byte[0] : undefined;
}

/** The masked text, of the same length, if it depends on the text; undefined if everything is masked. */
function maskedText(field: TextField, path: string): ((text: string) => string) | undefined {
  const { content, pad } = field;
  const filler = fillerOf(field);
  const whole = (value: string) => filler.repeat(value.length);
  const digit = pad?.with === '0' && pad.strip === true ? '1' : '0';
  let blank = whole;
  if (path === PAN) blank = (value) => blankPan(value, digit) ?? whole(value);
  else if (content === 'z') blank = (value) => blankTrack2(value, digit) ?? whole(value);
  else if (signsOf(content) !== undefined) blank = (value) => value.substring(0, 1) + whole(value.substring(1));
  else if (pad === undefined) return undefined;
  return pad === undefined ? blank : (text) => repadded(text, pad, blank);
}

/** Padding stays: if decoding removes it, it determines the length of the value. */
function repadded(text: string, pad: Padding, blank: (value: string) => string): string {
  return padTo(blank(stripPadding(text, pad)), text.length, pad);
}

/** A character that is valid in every text of that content: if possible no digit, and not the padding. */
function fillerOf({ content, pad }: TextField): string {
  const isOfDigits = content === 'n' || content === 'ns' || content === 'z' || signsOf(content) !== undefined;
  const [defaultValue, other] = isOfDigits ? ['0', '1'] : ['A', 'B'];
  return pad?.with === defaultValue && pad.strip === true ? other! : defaultValue!;
}

/**
 * Processes one field of a message: overwrites everything that must not be shown in the cursor's bytes, which are a
 * copy, and moves the cursor past it. It follows lengths, tags and bitmaps as decoding does, and checks no content.
 *
 * @throws {Iso8583Error} where decoding throws for a length, a tag or a bitmap; {TlvError} if a value is not TLV
 */
export type Mask = (cursor: Cursor) => void;

/** Creates the mask of one field; a parameter, so that composites can contain composites. */
export type MaskOf<Field> = (field: Field, path: string) => Mask;
