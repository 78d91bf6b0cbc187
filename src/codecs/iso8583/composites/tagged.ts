import type { Cursor } from '../../bytes/cursor.ts';
import { fromHex, hexDigit, toHex } from '../../bytes/hex.ts';
import { newRecord, type PlainRecord } from '../../bytes/record.ts';
import type { Sink } from '../../bytes/sink.ts';
import { LATIN1_TO_EBCDIC } from '../encodings/ebcdic.ts';
import { decodeError, encodeError, type FieldCodec, nameForError, specError } from '../field-codec.ts';
import { leafCodec } from '../leaves/leaf-codec.ts';
import { prefixCoder } from '../prefixes.ts';
import type { BinaryField, Field, OtherElement, TagForm, TaggedField } from '../rows.ts';
import type { Encodings } from '../spec.ts';
import type { Body } from './bounded.ts';
import type { CompileField } from './numbered-fields.ts';

/** Encodes tags as bytes and as text: characters unchanged, binary tags in upper-case hex. */
interface TagCoding {
  readonly wireBytes: number;
  /** The tag at `at`; undefined if the bytes are not a tag. The caller has checked the bounds. */
  read(bytes: Uint8Array, at: number): string | undefined;
  /** The bytes of a tag; undefined if the text is not a tag. */
  toBytes(tag: string): Uint8Array | undefined;
}

/** No dialect has tags of more than eight characters. */
const MAX_TAG_LENGTH = 8;

function tagCoding({ encoding, length }: TagForm, path: string): TagCoding {
  if (!Number.isInteger(length) || length < 1 || length > MAX_TAG_LENGTH) {
    throw specError(path, `the length of its tags is not 1 to ${MAX_TAG_LENGTH}`);
  }
  if (encoding === 'binary') return binaryTags(length);
  if (encoding === 'bcd') return packedTags(length);
  return characterTags(length, encoding);
}

function binaryTags(wireBytes: number): TagCoding {
  return {
    wireBytes,
    read: (bytes, at) => toHex(bytes, at, at + wireBytes),
    toBytes: (tag) => (isUpperHex(tag) && tag.length === wireBytes * 2 ? fromHex(tag) : undefined),
  };
}

const DECIMAL = /^[0-9]+$/;

/** An odd number of digits has a leading zero. */
function packedTags(digits: number): TagCoding {
  const wireBytes = Math.ceil(digits / 2);
  const isTag = (text: string) => DECIMAL.test(text) && (text.length === digits || text.startsWith('0'));
  return {
    wireBytes,
    read(bytes, at) {
      const text = toHex(bytes, at, at + wireBytes);
      return isTag(text) ? text.substring(text.length - digits) : undefined;
    },
    toBytes: (tag) =>
      DECIMAL.test(tag) && tag.length === digits ? fromHex(tag.padStart(wireBytes * 2, '0')) : undefined,
  };
}

const PRINTABLE = /^[\x21-\x7e]+$/;

function characterTags(wireBytes: number, encoding: 'ascii' | 'ebcdic'): TagCoding {
  const toWire = encoding === 'ascii' ? undefined : LATIN1_TO_EBCDIC.cp500;
  const fromWire = new Uint8Array(256);
  for (let code = 0; code < 256; code++) fromWire[toWire === undefined ? code : toWire[code]!] = code;
  return {
    wireBytes,
    read(bytes, at) {
      let tag = '';
      for (let index = at; index < at + wireBytes; index++) tag += String.fromCharCode(fromWire[bytes[index]!]!);
      return PRINTABLE.test(tag) ? tag : undefined;
    },
    toBytes(tag) {
      if (!PRINTABLE.test(tag) || tag.length !== wireBytes) return undefined;
      return Uint8Array.from(tag, (character) => {
        const code = character.charCodeAt(0);
        return toWire === undefined ? code : toWire[code]!;
      });
    },
  };
}

function isUpperHex(text: string): boolean {
  for (let index = 0; index < text.length; index++) {
    const code = text.charCodeAt(index);
    if (hexDigit(code) < 0 || code > 0x46) return false;
  }
  return true;
}

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

/**
 * Maximum number of elements in all tagged composites of a message. Private fields carry a dozen. Without this limit
 * a message of empty elements would create an object for every two of its bytes.
 */
export const MAX_ELEMENTS = 256;

/** The property for elements without a name, and for repeated elements of a tag. */
const OTHERS = 'others';

/** An element that the spec knows. */
interface KnownElement {
  readonly name: string;
  readonly tag: string;
  readonly tagBytes: Uint8Array;
  readonly codec: FieldCodec;
}

/**
 * Elements that each begin with a tag and a length. Decoding returns them by name in the order of the message, and
 * encoding writes them in the order of the object. `others` records where repeated and unknown elements were between
 * them.
 */
export function taggedBody(field: TaggedField, path: string, encodings: Encodings, compile: CompileField): Body {
  const coding = elementCoding(field, path, encodings);
  const known = knownElements(field, path, coding, compile);
  const byTag = new Map(known.map((element) => [element.tag, element]));
  const byName = new Map(known.map((element) => [element.name, element]));
  const unknown = field.unknown === 'keep' ? unknownCodec(field, path, encodings, coding) : undefined;
  const elements = { path, coding, byTag, byName, unknown };
  return {
    decode: (cursor) => decodeElements(cursor, elements),
    encode(value, sink) {
      if (typeof value !== 'object' || value === null) throw encodeError('VALUE_TYPE', path, sink.position, sink);
      encodeElements(value as PlainRecord, sink, elements);
    },
  };
}

function knownElements(field: TaggedField, path: string, coding: ElementCoding, compile: CompileField): KnownElement[] {
  const names = new Set<string>();
  return Object.entries(field.fields).map(([tag, row]) => {
    const tagBytes = coding.tags.toBytes(tag);
    const elementPath = `${path}.${tag}`;
    if (tagBytes === undefined) throw specError(elementPath, 'no tag of the form that its composite has');
    if (row.prefix !== undefined || row.end !== undefined)
      throw specError(elementPath, 'its length is given by the elementPrefix of the composite');
    if (names.has(row.name)) throw specError(elementPath, `the name ${row.name} is taken`);
    names.add(row.name);
    return { name: row.name, tag, tagBytes, codec: compile(coding.rowOf(row), elementPath) };
  });
}

/** The row of elements that the spec does not know: bytes. */
export function unknownRow(field: TaggedField, coding: ElementCoding, encodings: Encodings): BinaryField {
  const max = Math.min(field.max, prefixCoder(field.elementPrefix, encodings.prefix).most);
  return coding.rowOf({ kind: 'binary', name: 'unknown', encoding: 'binary', min: 0, max }) as BinaryField;
}

function unknownCodec(field: TaggedField, path: string, encodings: Encodings, coding: ElementCoding): FieldCodec {
  return leafCodec(unknownRow(field, coding, encodings), `${path}.?`, encodings);
}

/** A compiled tagged composite. */
interface Elements {
  readonly path: string;
  readonly coding: ElementCoding;
  readonly byTag: ReadonlyMap<string, KnownElement>;
  readonly byName: ReadonlyMap<string, KnownElement>;
  readonly unknown: FieldCodec | undefined;
}

function decodeElements(cursor: Cursor, { path, coding, byTag, unknown }: Elements): PlainRecord {
  const record = newRecord(byTag.size);
  const others: OtherElement[] = [];
  const { end } = cursor;
  for (let at = 0; cursor.position < end; at++) {
    const from = cursor.position;
    if (++cursor.elements > MAX_ELEMENTS) throw decodeError('TOO_MANY_ELEMENTS', path, from, cursor);
    const tag = coding.begin(cursor);
    const element = byTag.get(tag);
    const codec = element === undefined ? unknown : element.codec;
    // The tag is withheld, because after a wrong length it can be part of a PAN.
    if (codec === undefined) throw decodeError('TAG_UNKNOWN', path, from, cursor);
    const value = codec.decode(cursor);
    coding.end(cursor, end);
    if (element === undefined || Object.hasOwn(record, element.name)) others.push({ at, tag, value });
    else record[element.name] = value;
  }
  if (others.length > 0) record[OTHERS] = others;
  return record;
}

function encodeElements(record: PlainRecord, sink: Sink, elements: Elements): void {
  const { path, coding, byName } = elements;
  const others = othersOf(record, sink, path);
  let nextOther = 0;
  let at = 0;
  const writeOthers = (isTurn: (other: OtherElement) => boolean) => {
    for (; nextOther < others.length && isTurn(others[nextOther]!); nextOther++, at++) {
      encodeOther(others[nextOther]!, sink, elements);
    }
  };
  for (const name in record) {
    const value = record[name];
    if (name === OTHERS || value === undefined) continue;
    const element = byName.get(name);
    if (element === undefined) throw encodeError('FIELD_UNKNOWN', `${path}.${nameForError(name)}`, sink.position, sink);
    writeOthers((other) => other.at <= at);
    coding.write(element.tagBytes, sink, () => element.codec.encode(value, sink));
    at++;
  }
  writeOthers(() => true);
  if (at > MAX_ELEMENTS) throw encodeError('TOO_MANY_ELEMENTS', path, sink.position, sink);
}

function othersOf(record: PlainRecord, sink: Sink, path: string): readonly OtherElement[] {
  const others = record[OTHERS] ?? [];
  if (!Array.isArray(others)) throw encodeError('VALUE_TYPE', `${path}.${OTHERS}`, sink.position, sink);
  return others as OtherElement[];
}

function encodeOther({ tag, value }: OtherElement, sink: Sink, { path, coding, byTag, unknown }: Elements): void {
  const element = byTag.get(tag);
  const codec = element === undefined ? unknown : element.codec;
  if (codec === undefined) throw encodeError('TAG_UNKNOWN', path, sink.position, sink);
  const bytes = element === undefined ? coding.tags.toBytes(tag) : element.tagBytes;
  if (bytes === undefined) throw encodeError('TAG_INVALID', path, sink.position, sink);
  coding.write(bytes, sink, () => codec.encode(value, sink));
}
