import type { Cursor } from '../../bytes/cursor.ts';
import type { Sink } from '../../bytes/sink.ts';
import { decodeError, encodeError, specError } from '../field-codec.ts';
import { prefixCoder } from '../prefixes.ts';
import type { Field, TaggedField } from '../rows.ts';
import type { Encodings } from '../spec.ts';
import { type TagCoding, tagCoding } from './tag-coding.ts';

/** How the elements of a tagged composite are delimited: the tag, the length, and what the length counts. */
export interface ElementCoding {
  readonly tags: TagCoding;
  /** The row of an element as it is compiled: with its length, or with what this coding leaves to it. */
  rowOf(row: Field): Field;
  /** Reads what precedes the value at the cursor. @returns the tag */
  begin(cursor: Cursor): string;
  /** Ends an element after its value was read. `end` is that of the composite. */
  end(cursor: Cursor, end: number): void;
  /** Writes an element; `writeValue` writes its value, with the length that `rowOf` leaves to it. */
  write(tagBytes: Uint8Array, sink: Sink, writeValue: () => void): void;
}

/** @throws {Iso8583Error} SPEC_INVALID */
export function elementCoding(field: TaggedField, path: string, encodings: Encodings): ElementCoding {
  const isPlain = field.first !== 'length' && !field.lengthCounts?.length;
  return isPlain ? tagThenValue(field, path) : enveloped(field, path, encodings);
}

/** The usual form: a tag, then a value with its length prefix. */
function tagThenValue({ tag, elementPrefix }: TaggedField, path: string): ElementCoding {
  const tags = tagCoding(tag, path);
  return {
    tags,
    rowOf: (row) => ({ ...row, prefix: elementPrefix }),
    begin(cursor) {
      const at = cursor.position;
      const found = readTag(tags, cursor, at, path);
      cursor.position = at + tags.wireBytes;
      return found;
    },
    end: () => {},
    write(tagBytes, sink, writeValue) {
      writeTag(tagBytes, sink, path);
      writeValue();
    },
  };
}

/** The length precedes the tag, or counts the tag or itself. It is in bytes. */
function enveloped(field: TaggedField, path: string, encodings: Encodings): ElementCoding {
  const tags = tagCoding(field.tag, path);
  const prefix = prefixCoder(field.elementPrefix, encodings.prefix);
  const isLengthFirst = field.first === 'length';
  const headBytes = tags.wireBytes + prefix.width;
  const counted = (what: 'tag' | 'length') => field.lengthCounts?.includes(what) === true;
  const countedBytes = (counted('tag') ? tags.wireBytes : 0) + (counted('length') ? prefix.width : 0);
  const most = prefix.most - countedBytes;
  if (most < 1) throw specError(path, 'its elements have no room for a value');
  return {
    tags,
    rowOf: (row) => ({ ...row, end: 'rest' }),
    begin(cursor) {
      const at = cursor.position;
      if (at + headBytes > cursor.end) throw decodeError('TRUNCATED', path, at, cursor);
      const found = readTag(tags, cursor, isLengthFirst ? at + prefix.width : at, path);
      const lengthOffset = isLengthFirst ? at : at + tags.wireBytes;
      const length = prefix.read(cursor.bytes, lengthOffset) - countedBytes;
      if (length < 0) throw decodeError('LENGTH_INVALID', path, lengthOffset, cursor);
      const from = at + headBytes;
      if (from + length > cursor.end) throw decodeError('TRUNCATED', path, from, cursor);
      cursor.position = from;
      cursor.end = from + length;
      return found;
    },
    end(cursor, end) {
      if (cursor.position < cursor.end) throw decodeError('TRAILING_BYTES', path, cursor.position, cursor);
      cursor.end = end;
    },
    write(tagBytes, sink, writeValue) {
      const at = sink.position;
      if (at + headBytes > sink.end) throw encodeError('TARGET_TOO_SMALL', path, at, sink);
      sink.target.set(tagBytes, isLengthFirst ? at + prefix.width : at);
      sink.position = at + headBytes;
      writeValue();
      const length = sink.position - at - headBytes;
      if (length > most) throw encodeError('LENGTH_TOO_LONG', path, at, sink);
      prefix.write(sink.target, isLengthFirst ? at : at + tags.wireBytes, length + countedBytes);
    },
  };
}

function readTag(tags: TagCoding, cursor: Cursor, at: number, path: string): string {
  if (at + tags.wireBytes > cursor.end) throw decodeError('TRUNCATED', path, at, cursor);
  const tag = tags.read(cursor.bytes, at);
  if (tag === undefined) throw decodeError('TAG_INVALID', path, at, cursor);
  return tag;
}

function writeTag(bytes: Uint8Array, sink: Sink, path: string): void {
  const at = sink.position;
  if (at + bytes.length > sink.end) throw encodeError('TARGET_TOO_SMALL', path, at, sink);
  sink.target.set(bytes, at);
  sink.position = at + bytes.length;
}
