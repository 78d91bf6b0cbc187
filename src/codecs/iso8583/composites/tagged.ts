import type { Cursor } from '../../bytes/cursor.ts';
import { newRecord, type PlainRecord } from '../../bytes/record.ts';
import type { Sink } from '../../bytes/sink.ts';
import { decodeError, encodeError, type FieldCodec, nameForError, specError } from '../field-codec.ts';
import { leafCodec } from '../leaves/leaf-codec.ts';
import { prefixCoder } from '../prefixes.ts';
import type { BinaryField, OtherElement, TaggedField } from '../rows.ts';
import type { Encodings } from '../spec.ts';
import type { Body } from './bounded.ts';
import { type ElementCoding, elementCoding } from './element-coding.ts';
import type { CompileField } from './numbered-fields.ts';

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
