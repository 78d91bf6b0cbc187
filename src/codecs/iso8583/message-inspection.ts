import { DigitError, Iso8583Error } from '../../basics/errors/codec-errors.ts';
import { fromHex, toHex } from '../bytes/hex.ts';
import { areEqualBytes } from '../bytes/secret.ts';
import { type Codec, compileSpec } from './codec.ts';
import {
  type DescribedValue,
  type DescribeOptions,
  describedValues,
  type MessageRow,
  messageRows,
} from './describe.ts';
import { nameForError } from './field-codec.ts';
import { parseMti } from './message.ts';
import { headerBytesOf, LENGTH_HEADERS, readLengthHeader } from './network/length-headers.ts';
import { type Field, type OtherElement, subfieldsOf, type TaggedField } from './rows.ts';
import { type MessageOf, type Spec, specOf } from './spec.ts';

/** A place where two messages differ; a row is undefined if the message has no value there. */
export interface Difference {
  readonly path: string;
  readonly name: string;
  readonly before: MessageRow | undefined;
  readonly after: MessageRow | undefined;
}

/**
 * The places where two messages of a spec differ, in order of the paths of the first. Complete values are compared
 * and then shown as `messageRows` shows them, so a difference of withheld values is reported without the values.
 */
export function diffMessages(spec: Spec, before: object, after: object, options?: DescribeOptions): Difference[] {
  const left = placesOf(spec, before, options);
  const right = placesOf(spec, after, options);
  return [...new Set([...left.keys(), ...right.keys()])]
    .filter((place) => !isSame(left.get(place), right.get(place)))
    .map((place) => {
      const [a, b] = [left.get(place)?.row, right.get(place)?.row];
      const { path, name } = (a ?? b)!;
      return { path, name, before: a, after: b };
    });
}

/**
 * Values by path; a repeated tag also has its repetition number. Composites are left out, because their contents are
 * listed.
 */
function placesOf(spec: Spec, message: object, options?: DescribeOptions): Map<string, DescribedValue> {
  const places = new Map<string, DescribedValue>();
  for (const described of describedValues(spec, message, options)) {
    if (isComposite(described.value)) continue;
    const { path } = described.row;
    let turn = 1;
    while (places.has(`${path}#${turn}`)) turn++;
    places.set(`${path}#${turn}`, described);
  }
  return places;
}

function isComposite(value: unknown): boolean {
  return typeof value === 'object' && value !== null && !(value instanceof Uint8Array);
}

function isSame(a: DescribedValue | undefined, b: DescribedValue | undefined): boolean {
  if (a === undefined || b === undefined) return false;
  if (a.value instanceof Uint8Array && b.value instanceof Uint8Array) return areEqualBytes(a.value, b.value);
  return a.value === b.value;
}

/** A message as JSON: by name, text unchanged, bytes in upper-case hex; null for a withheld value. */
export type JsonMessage = { readonly [name: string]: JsonValue };
type JsonValue = string | null | JsonMessage | readonly JsonElement[];

/** An element of `others`; the value of an unknown tag is hex. */
interface JsonElement {
  readonly at: number;
  readonly tag: string;
  readonly value: JsonValue;
}

/** The message as `messageFromJson` reads it. Values whose row is not `safe` are withheld unless `unmasked`. */
export function messageToJson(spec: Spec, message: object, { unmasked = false } = {}): JsonMessage {
  const { mti, header, ...rest } = message as { readonly mti: string; readonly header?: Uint8Array };
  const shown = header !== undefined && { header: unmasked ? toHex(header) : null };
  return { mti, ...shown, ...recordToJson(specOf(spec, mti).fields, rest, unmasked) };
}

function recordToJson(fields: Readonly<Record<string, Field>>, record: object, unmasked: boolean): JsonMessage {
  const byName = new Map(Object.values(fields).map((field) => [field.name, field]));
  const present = Object.entries(record).filter(([, value]) => value !== undefined);
  return Object.fromEntries(present.map(([name, value]) => [name, valueToJson(byName.get(name), value, unmasked)]));
}

function valueToJson(field: Field | undefined, value: unknown, unmasked: boolean): JsonValue {
  const isLeaf = typeof value === 'string' || value instanceof Uint8Array;
  if (isLeaf) {
    if (!unmasked && field?.safe !== true) return null;
    return typeof value === 'string' ? value : toHex(value);
  }
  if (Array.isArray(value) || field === undefined) return null; // `others` is converted with its field
  const { others, ...rest } = value as { readonly others?: readonly OtherElement[] };
  const record = recordToJson(subfieldsOf(field), rest, unmasked);
  if (others === undefined || field.kind !== 'tagged') return record;
  return { ...record, others: others.map((each) => otherToJson(field, each, unmasked)) };
}

function otherToJson({ fields }: TaggedField, { at, tag, value }: OtherElement, unmasked: boolean): JsonElement {
  const row = Object.hasOwn(fields, tag) ? fields[tag] : undefined;
  return { at, tag, value: valueToJson(row, value, unmasked) };
}

/**
 * The message that JSON describes, ready to encode: hex becomes bytes where the spec has bytes. `encode` checks the
 * content of the values.
 *
 * @throws {Iso8583Error} FIELD_UNKNOWN, VALUE_TYPE, VALUE_WITHHELD or CONTENT_INVALID (not hex)
 */
export function messageFromJson<S extends Spec>(spec: S, json: unknown): MessageOf<S> {
  const { mti, header, ...rest } = objectOf(json, 'message');
  if (typeof mti !== 'string') throw new Iso8583Error('VALUE_TYPE', 'mti', 0);
  const message = recordFromJson(specOf(spec, mti).fields, rest, '');
  return { mti, ...(header === undefined ? {} : { header: bytesOf(header, 'header') }), ...message } as MessageOf<S>;
}

function recordFromJson(
  fields: Readonly<Record<string, Field>>,
  json: Readonly<Record<string, unknown>>,
  path: string,
): Record<string, unknown> {
  const byName = new Map(Object.entries(fields).map(([key, field]) => [field.name, { key, field }]));
  const record = Object.entries(json).map(([name, value]) => {
    const known = byName.get(name);
    if (known === undefined) throw new Iso8583Error('FIELD_UNKNOWN', path + nameForError(name), 0);
    return [name, valueFromJson(known.field, value, path + known.key)];
  });
  return Object.fromEntries(record);
}

function valueFromJson(field: Field, json: unknown, path: string): unknown {
  if (json === null) throw new Iso8583Error('VALUE_WITHHELD', path, 0);
  if (field.kind === 'text') return textOf(json, path);
  if (field.kind === 'binary' || field.kind === 'tlv') return bytesOf(json, path);
  const { others, tlv, ...rest } = objectOf(json, path);
  const record = recordFromJson(subfieldsOf(field), rest, `${path}.`);
  if (field.kind === 'tagged' && others !== undefined) record.others = othersFromJson(field, others, path);
  else if (field.kind === 'dataset' && tlv !== undefined) record.tlv = bytesOf(tlv, `${path}.tlv`);
  else if (others !== undefined || tlv !== undefined) throw new Iso8583Error('FIELD_UNKNOWN', path, 0);
  return record;
}

function othersFromJson(field: TaggedField, json: unknown, path: string): OtherElement[] {
  if (!Array.isArray(json)) throw new Iso8583Error('VALUE_TYPE', `${path}.others`, 0);
  return json.map((element) => {
    const { at, tag, value } = objectOf(element, `${path}.others`);
    if (typeof at !== 'number' || typeof tag !== 'string') throw new Iso8583Error('VALUE_TYPE', `${path}.others`, 0);
    const row = Object.hasOwn(field.fields, tag) ? field.fields[tag] : undefined;
    const elementPath = `${path}.others`;
    return { at, tag, value: row ? valueFromJson(row, value, elementPath) : bytesOf(value, elementPath) };
  });
}

function objectOf(json: unknown, path: string): Readonly<Record<string, unknown>> {
  if (typeof json !== 'object' || json === null || Array.isArray(json)) throw new Iso8583Error('VALUE_TYPE', path, 0);
  return json as Readonly<Record<string, unknown>>;
}

function textOf(json: unknown, path: string): string {
  if (typeof json !== 'string') throw new Iso8583Error('VALUE_TYPE', path, 0);
  return json;
}

function bytesOf(json: unknown, path: string): Uint8Array {
  if (json === null) throw new Iso8583Error('VALUE_WITHHELD', path, 0);
  try {
    return fromHex(textOf(json, path));
  } catch (error) {
    throw error instanceof DigitError ? new Iso8583Error('CONTENT_INVALID', path, 0) : error;
  }
}

/** What a capture of a connection contains before the message. */
interface Skipped {
  readonly what: 'length header' | 'TPDU';
  readonly bytes: Uint8Array;
}

/** A message, or why it does not decode, and what preceded it. */
export type Decoded =
  | { readonly skipped: readonly Skipped[]; readonly message: object; readonly error?: undefined }
  | { readonly skipped: readonly Skipped[]; readonly message?: undefined; readonly error: Iso8583Error };

const TPDU_BYTES = 5;
/** A TPDU begins with this protocol id; two addresses follow. */
const TPDU_ID = 0x60;

/**
 * Decodes a message as it was captured: alone, or behind a length header, a TPDU, or both. What precedes it is skipped
 * only if the bytes are no message themselves. A length must match the number of bytes.
 */
export function decodeCaptured(codec: Codec<{ readonly mti: string }>, bytes: Uint8Array): Decoded {
  const attempts = Array.from(readings(bytes), (reading) => attempt(codec, reading));
  const isPlausible = (each: Decoded) => parseMti(mtiOf(each.message ?? each.error?.partial)) !== undefined;
  const decoded = attempts.filter(({ message }) => message !== undefined);
  return decoded.find(isPlausible) ?? decoded[0] ?? attempts.filter(isPlausible).sort(byProgress)[0] ?? attempts[0]!;
}

interface Reading {
  readonly skipped: readonly Skipped[];
  readonly bytes: Uint8Array;
}

function* readings(bytes: Uint8Array): Generator<Reading> {
  yield* withoutTpdu({ skipped: [], bytes });
  for (const row of Object.values(LENGTH_HEADERS)) {
    const count = headerBytesOf(row);
    if (bytes.length <= count || readLengthHeader(row, bytes, 0) !== bytes.length - count) continue;
    const header: Skipped = { what: 'length header', bytes: bytes.subarray(0, count) };
    yield* withoutTpdu({ skipped: [header], bytes: bytes.subarray(count) });
  }
}

function* withoutTpdu({ skipped, bytes }: Reading): Generator<Reading> {
  yield { skipped, bytes };
  if (bytes[0] !== TPDU_ID || bytes.length <= TPDU_BYTES) return;
  const tpdu: Skipped = { what: 'TPDU', bytes: bytes.subarray(0, TPDU_BYTES) };
  yield { skipped: [...skipped, tpdu], bytes: bytes.subarray(TPDU_BYTES) };
}

function attempt(codec: Codec<{ readonly mti: string }>, { skipped, bytes }: Reading): Decoded {
  try {
    return { skipped, message: codec.decode(bytes) };
  } catch (error) {
    if (!(error instanceof Iso8583Error)) throw error;
    return { skipped, error };
  }
}

function mtiOf(message: object | undefined): string {
  const { mti } = (message ?? {}) as { readonly mti?: unknown };
  return typeof mti === 'string' ? mti : '';
}

/** The reading with the most fields before its fault is the likeliest one. */
function byProgress(one: Decoded, other: Decoded): number {
  const fields = ({ error }: Decoded) => Object.keys(error?.partial ?? {}).length;
  return fields(other) - fields(one);
}

// What `tapwire decode`, `encode` and `diff` do, and the console's page in a browser: nothing here needs Node or the
// gateway.

/** A message as people read it. */
export interface ReadMessage {
  /** What preceded the message. */
  readonly skipped: readonly { readonly what: string; readonly hex: string }[];
  /** What `encodeJson` reads; withheld values are null. Undefined for bytes that do not decode. */
  readonly message: JsonMessage | undefined;
  /** The fields; those before the fault if there is one. */
  readonly fields: readonly MessageRow[];
  readonly error: Iso8583Error | undefined;
}

export function readMessage(spec: Spec, bytes: Uint8Array, options?: DescribeOptions): ReadMessage {
  const { skipped, message, error } = decodeCaptured(compileSpec(spec), bytes);
  return {
    skipped: skipped.map(({ what, bytes: before }) => ({ what, hex: toHex(before) })),
    message: message && messageToJson(spec, message, options),
    fields: messageRows(spec, message ?? error?.partial ?? {}, options),
    error,
  };
}

/**
 * The bytes of a message in hex.
 *
 * @param json a message by field names, or the document of `tapwire decode --json` that contains one
 * @throws Iso8583Error
 */
export function encodeJson(spec: Spec, json: unknown): string {
  const isDocument = typeof json === 'object' && json !== null && 'message' in json && 'fields' in json;
  return toHex(compileSpec(spec).toBytes(messageFromJson(spec, isDocument ? json.message : json)));
}

/** Where two messages differ. @throws Iso8583Error if one does not decode */
export function compareMessages(
  spec: Spec,
  before: Uint8Array,
  after: Uint8Array,
  options?: DescribeOptions,
): Difference[] {
  const codec = compileSpec(spec);
  const [one, other] = [before, after].map((bytes) => {
    const { message, error } = decodeCaptured(codec, bytes);
    if (error !== undefined) throw error;
    return message;
  });
  return diffMessages(spec, one!, other!, options);
}

/** Hex with blanks and line breaks. @throws DigitError */
export function bytesOfHex(text: string): Uint8Array {
  return fromHex(text.replace(/\s+/g, ''));
}
