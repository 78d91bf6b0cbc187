import type { Cursor } from '../../bytes/cursor.ts';
import type { PackedDigits } from '../../bytes/digits.ts';
import type { Sink } from '../../bytes/sink.ts';
import { KIND_OF_LATIN1, readTextRun, type TextRun, writeTextRun } from '../../bytes/text-run.ts';
import { byteCoding, type ValueCoding } from '../encodings/bytes.ts';
import { decodeError, encodeError, type FieldCodec, specError } from '../field-codec.ts';
import { DECIMAL_DIGITS, type EndCoder, endCoder, type PrefixCoder, prefixCoder } from '../prefixes.ts';
import { type BinaryField, KINDS_OF_CONTENT, signsOf, type TextField } from '../rows.ts';
import type { Encodings } from '../spec.ts';
import {
  defaultEncoding,
  halfBytes,
  isPacked,
  type LeafParts,
  type LengthUnits,
  packedDigitsOf,
  textParts,
  valueUnits,
} from './leaf-parts.ts';

/**
 * The most common kinds of field: ASCII or packed digits, of fixed length or with a prefix that counts characters.
 * Undefined for any other field, as those with an ending in place of a prefix.
 */
function textRun(field: TextField, prefix: PrefixCoder | undefined, encodings: Encodings): TextRun | undefined {
  const { content, pad } = field;
  if (field.end !== undefined || (prefix !== undefined && prefix.digits === undefined)) return undefined;
  const encoding = field.encoding ?? defaultEncoding(content, encodings);
  if (isPacked(encoding)) {
    const isCountOfDigits = pad === undefined && field.unit !== 'bytes';
    return isCountOfDigits ? runOf(field, prefix, packedDigitsOf(field, encoding), 0) : undefined;
  }
  if (signsOf(content) !== undefined || encoding !== 'ascii') return undefined;
  const refused = ~KINDS_OF_CONTENT[content];
  if (pad === undefined) return runOf(field, prefix, undefined, refused);
  const code = pad.with.charCodeAt(0);
  const isOfContent = code <= 0xff && (KIND_OF_LATIN1[code]! & refused) === 0;
  if (pad.side === 'left' || prefix !== undefined || !isOfContent || pad.with.length !== 1) return undefined;
  return runOf({ ...field, min: 0 }, prefix, undefined, refused, code, pad.strip === true);
}

/** One literal for all runs, which then share a hidden class; with three, ASCII messages took a tenth longer. */
function runOf(
  { min, max }: TextField,
  prefix: PrefixCoder | undefined,
  packed: PackedDigits | undefined,
  refused: number,
  pad = 0,
  strips = false,
): TextRun {
  const width = prefix === undefined ? 0 : prefix.width;
  return { width, prefix: prefix?.digits ?? DECIMAL_DIGITS, min, max, packed, refused, pad, strips };
}

/** `path` is the field's number, preceded by those of the composites that contain it. */
export function leafCodec(field: TextField | BinaryField, path: string, encodings: Encodings): FieldCodec {
  const prefix = field.prefix === undefined ? undefined : prefixCoder(field.prefix, encodings.prefix);
  const { min, max } = field;
  const end = field.end === undefined ? undefined : endCoder(field.end, path);
  if (field.kind === 'text') {
    const parts = textParts(field, path, encodings);
    checkPrefix(max, parts.units, prefix, path);
    const codec = {
      run: undefined,
      decode: leafDecoder(path, parts, min, max, prefix, end),
      encode: leafEncoder(path, parts, min, max, prefix, end, (value) => typeof value === 'string'),
    };
    const run = textRun(field, prefix, encodings);
    return run === undefined ? codec : textRunCodec(run, codec);
  }
  const parts = byteParts(field, encodings);
  checkPrefix(max, parts.units, prefix, path);
  return {
    run: undefined,
    decode: leafDecoder(path, parts, min, max, prefix, end),
    encode: leafEncoder(path, parts, min, max, prefix, end, (value) => value instanceof Uint8Array),
  };
}

/**
 * Reads and writes the most common kind of field in one step. On any fault, the general codec runs and reports the
 * cause.
 */
function textRunCodec(run: TextRun, inDoubt: FieldCodec): FieldCodec {
  return {
    run,
    decode: (cursor) => readTextRun(run, cursor) ?? inDoubt.decode(cursor),
    encode(value, sink) {
      if (typeof value !== 'string' || !writeTextRun(run, value, sink)) inDoubt.encode(value, sink);
    },
  };
}

function byteParts(field: BinaryField, encodings: Encodings): LeafParts<Uint8Array> {
  const coding = byteCoding(field.encoding ?? encodings.binary);
  const isHalved = field.unit === 'digits' || field.unit === 'nibbles';
  return { coding, units: isHalved ? halfBytes(coding) : valueUnits(coding) };
}

function leafDecoder<Value>(
  path: string,
  parts: LeafParts<Value>,
  min: number,
  max: number,
  prefix: PrefixCoder | undefined,
  end: EndCoder | undefined,
): FieldCodec['decode'] {
  const readValue = valueReader(path, parts);
  if (end !== undefined) return endedDecoder(path, parts, min, max, end, readValue);
  return prefix === undefined
    ? fixedDecoder(path, parts.coding.wireBytes(max), max, readValue)
    : variableDecoder(path, parts.units, min, max, prefix, readValue);
}

/**
 * Visits a field without creating its value: `visit` receives its position, moves the cursor past it, and checks the
 * bytes as required.
 */
export function leafVisitor(
  field: TextField | BinaryField,
  path: string,
  encodings: Encodings,
  visit: ReadValue<void>,
): (cursor: Cursor) => void {
  const { coding, units } = field.kind === 'text' ? textParts(field, path, encodings) : byteParts(field, encodings);
  const { min, max } = field;
  if (field.end !== undefined) return endedDecoder(path, { coding, units }, min, max, endCoder(field.end, path), visit);
  const prefix = field.prefix === undefined ? undefined : prefixCoder(field.prefix, encodings.prefix);
  return prefix === undefined
    ? fixedDecoder(path, coding.wireBytes(max), max, visit)
    : variableDecoder(path, units, min, max, prefix, visit);
}

/** Reads the value of `count` between `from` and `to`; the bounds are checked, the content is not. */
type ReadValue<Value> = (cursor: Cursor, from: number, to: number, count: number) => Value;

function valueReader<Value>(path: string, { coding, firstWrong, strip }: LeafParts<Value>): ReadValue<Value> {
  const { firstWrong: firstWrongByte, read } = coding;
  return (cursor, from, to, count) => {
    const wrong = firstWrongByte(cursor.bytes, from, count);
    if (wrong >= 0) throw decodeError('CONTENT_INVALID', path, wrong, cursor);
    const value = read(cursor, from, count);
    if (firstWrong !== undefined) {
      const index = firstWrong(value);
      if (index >= 0) throw decodeError('CONTENT_INVALID', path, from + coding.wireBytes(index), cursor);
    }
    cursor.position = to;
    return strip === undefined ? value : strip(value);
  };
}

function fixedDecoder<Value>(
  path: string,
  wireBytes: number,
  count: number,
  readValue: ReadValue<Value>,
): FieldCodec['decode'] {
  return (cursor) => {
    const from = cursor.position;
    const to = from + wireBytes;
    if (to > cursor.end) throw decodeError('TRUNCATED', path, from, cursor);
    return readValue(cursor, from, to, count);
  };
}

/** A value without a prefix, whose bytes show where it ends. */
function endedDecoder<Value>(
  path: string,
  { coding, units }: { readonly coding: Pick<ValueCoding<never>, 'wireBytes'>; readonly units: LengthUnits },
  min: number,
  max: number,
  end: EndCoder,
  readValue: ReadValue<Value>,
): FieldCodec['decode'] {
  const bytesOfOne = coding.wireBytes(2) / 2;
  const afterBytes = end.delimiter === undefined ? 0 : 1;
  return (cursor) => {
    const from = cursor.position;
    const to = end.find(cursor.bytes, from, cursor.end);
    if (to < 0) throw decodeError('TRUNCATED', path, from, cursor);
    const bytes = to - from;
    // A packed value counts its nibbles; any other has one or two bytes for each character or byte.
    const count = bytesOfOne < 1 ? units.toCount(bytes, cursor.bytes, from) : bytes / bytesOfOne;
    if (!Number.isInteger(count) || count < 0) throw decodeError('LENGTH_INVALID', path, from, cursor);
    if (count > max) throw decodeError('LENGTH_TOO_LONG', path, from, cursor);
    if (count < min) throw decodeError('LENGTH_TOO_SHORT', path, from, cursor);
    const value = readValue(cursor, from, to, count);
    cursor.position = to + afterBytes;
    return value;
  };
}

function variableDecoder<Value>(
  path: string,
  units: LengthUnits,
  min: number,
  max: number,
  prefix: PrefixCoder,
  readValue: ReadValue<Value>,
): FieldCodec['decode'] {
  const most = units.toLength(max);
  return (cursor) => {
    const at = cursor.position;
    const from = at + prefix.width;
    if (from > cursor.end) throw decodeError('TRUNCATED', path, at, cursor);
    const length = prefix.read(cursor.bytes, at);
    if (length < 0) throw decodeError('LENGTH_INVALID', path, at, cursor);
    if (length > most) throw decodeError('LENGTH_TOO_LONG', path, at, cursor);
    const to = from + units.wireBytes(length);
    if (to > cursor.end) throw decodeError('TRUNCATED', path, from, cursor);
    const count = units.toCount(length, cursor.bytes, from);
    if (count < 0) throw decodeError('LENGTH_INVALID', path, at, cursor);
    if (count < min) throw decodeError('LENGTH_TOO_SHORT', path, at, cursor);
    return readValue(cursor, from, to, count);
  };
}

function leafEncoder<Value extends { readonly length: number }>(
  path: string,
  { coding, units, firstWrong, pad }: LeafParts<Value>,
  min: number,
  max: number,
  prefix: PrefixCoder | undefined,
  ending: EndCoder | undefined,
  isValue: (value: unknown) => boolean,
): FieldCodec['encode'] {
  const width = prefix === undefined ? 0 : prefix.width;
  return (given: unknown, sink: Sink) => {
    const at = sink.position;
    if (!isValue(given)) throw encodeError('VALUE_TYPE', path, at, sink);
    const value = pad === undefined || (given as Value).length >= min ? (given as Value) : pad(given as Value);
    const count = value.length;
    if (count > max) throw encodeError('LENGTH_TOO_LONG', path, at, sink);
    if (count < min) throw encodeError('LENGTH_TOO_SHORT', path, at, sink);
    const from = at + width;
    const end = from + coding.wireBytes(count);
    if (end > sink.end) throw encodeError('TARGET_TOO_SMALL', path, at, sink);
    const index = firstWrong === undefined ? -1 : firstWrong(value);
    if (index >= 0) throw encodeError('CONTENT_INVALID', path, from + coding.wireBytes(index), sink);
    const wrong = coding.write(value, sink.target, from);
    if (wrong >= 0) throw encodeError('CONTENT_INVALID', path, wrong, sink);
    if (prefix !== undefined) prefix.write(sink.target, at, units.toLength(count));
    sink.position = end;
    if (ending !== undefined) writeEnding(ending, sink, from, path);
  };
}

/** @throws {Iso8583Error} CONTENT_INVALID if the written value from `from` on would end elsewhere when it is read */
export function writeEnding({ canEnd, delimiter }: EndCoder, sink: Sink, from: number, path: string): void {
  const { target, position } = sink;
  if (!canEnd(target, from, position)) throw encodeError('CONTENT_INVALID', path, from, sink);
  if (delimiter === undefined) return;
  if (position + 1 > sink.end) throw encodeError('TARGET_TOO_SMALL', path, position, sink);
  target[position] = delimiter;
  sink.position = position + 1;
}

function checkPrefix(max: number, units: LengthUnits, prefix: PrefixCoder | undefined, path: string): void {
  if (prefix !== undefined && units.toLength(max) > prefix.most) {
    throw specError(path, `a length of ${units.toLength(max)} does not fit its prefix`);
  }
}
