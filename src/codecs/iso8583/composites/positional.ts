import type { Cursor } from '../../bytes/cursor.ts';
import { newRecord, type PlainRecord } from '../../bytes/record.ts';
import type { Sink } from '../../bytes/sink.ts';
import { decodeError, encodeError, type FieldCodec, nameForError, specError } from '../field-codec.ts';
import { delimiterOf } from '../prefixes.ts';
import type { Field, PositionalField } from '../rows.ts';
import type { Body } from './bounded.ts';
import type { CompileField } from './numbered-fields.ts';

/** Consecutive subfields; their paths count from 1. */
export function positionalBody(field: PositionalField, path: string, compile: CompileField): Body {
  const names = field.fields.map(({ name }) => name);
  if (new Set(names).size < names.length) throw specError(path, 'two subfields have the same name');
  const codecs = rowsOf(field, path).map((row, index) => compile(row, `${path}.${index + 1}`));
  const { separator } = field;
  const known = new Set(names);
  return {
    decode: separator === undefined ? consecutive(names, codecs) : separated(names, codecs, separator, path),
    encode(value, sink) {
      if (typeof value !== 'object' || value === null) throw encodeError('VALUE_TYPE', path, sink.position, sink);
      const record = value as PlainRecord;
      for (const name in record) {
        if (!known.has(name)) throw encodeError('FIELD_UNKNOWN', `${path}.${nameForError(name)}`, sink.position, sink);
      }
      const present = countPresent(record, names, codecs);
      for (let index = 0; index < present; index++) {
        const subvalue = record[names[index]!];
        if (subvalue === undefined) throw encodeError('FIELD_MISSING', `${path}.${index + 1}`, sink.position, sink);
        if (separator !== undefined && index > 0) writeByte(separator, sink, path);
        const from = sink.position;
        codecs[index]!.encode(subvalue, sink);
        if (separator !== undefined && indexOfByte(separator, sink.target, from, sink.position) >= 0)
          throw encodeError('CONTENT_INVALID', `${path}.${index + 1}`, from, sink);
      }
    },
  };
}

/** The rows as they are compiled: with a separator, each takes what is before it. */
export function rowsOf({ fields, separator }: PositionalField, path: string): readonly Field[] {
  if (separator !== undefined) delimiterOf(separator, path);
  return fields.map((row, index) => {
    const own = `${path}.${index + 1}`;
    if (separator !== undefined) {
      if (row.prefix !== undefined || row.end !== undefined) throw specError(own, 'the separator gives its length');
      if (index === 0 && row.min < 1) throw specError(own, 'alone and empty it is absent, so its least length is 1');
      return { ...row, end: 'rest' };
    }
    if (row.end === 'rest' && index < fields.length - 1) throw specError(own, 'only the last row can have the rest');
    if (row.end === 'rest' && row.min < 1) throw specError(own, 'an empty rest is absent, so its least length is 1');
    return row;
  });
}

/**
 * After the end of the bytes, the remaining subfields are absent; the length check ensures that there are enough
 * bytes.
 */
function consecutive(names: readonly string[], codecs: readonly FieldCodec[]): Body['decode'] {
  return (cursor) => {
    const record = newRecord(codecs.length);
    for (let index = 0; index < codecs.length && cursor.position < cursor.end; index++) {
      record[names[index]!] = codecs[index]!.decode(cursor);
    }
    return record;
  };
}

function separated(
  names: readonly string[],
  codecs: readonly FieldCodec[],
  separator: number,
  path: string,
): Body['decode'] {
  return (cursor) => {
    const record = newRecord(codecs.length);
    forEachPart(cursor, separator, codecs.length, path, (index) => {
      record[names[index]!] = codecs[index]!.decode(cursor);
    });
    return record;
  };
}

/**
 * Calls `onPart` for each of at most `most` parts between separators, with the cursor at its begin and its end. Nothing
 * is no part; after a separator there is always one, which may be empty.
 */
export function forEachPart(
  cursor: Cursor,
  separator: number,
  most: number,
  path: string,
  onPart: (index: number) => void,
): void {
  const { end } = cursor;
  if (cursor.position === end) return;
  for (let index = 0; ; index++) {
    if (index === most) throw decodeError('TRAILING_BYTES', path, cursor.position, cursor);
    const at = indexOfByte(separator, cursor.bytes, cursor.position, end);
    cursor.end = at < 0 ? end : at;
    onPart(index);
    cursor.end = end;
    if (at < 0) return;
    cursor.position = at + 1;
  }
}

function indexOfByte(byte: number, bytes: Uint8Array, from: number, to: number): number {
  for (let at = from; at < to; at++) if (bytes[at] === byte) return at;
  return -1;
}

function writeByte(byte: number, sink: Sink, path: string): void {
  const { position } = sink;
  if (position + 1 > sink.end) throw encodeError('TARGET_TOO_SMALL', path, position, sink);
  sink.target[position] = byte;
  sink.position = position + 1;
}

/** Number of subfields up to the last one with a value: none before it may be absent. */
function countPresent(record: PlainRecord, names: readonly string[], codecs: readonly FieldCodec[]): number {
  let present = codecs.length;
  while (present > 0 && record[names[present - 1]!] === undefined) present--;
  return present;
}
