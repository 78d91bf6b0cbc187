import { DigitError, Iso8583Error } from '../../basics/errors/codec-errors.ts';
import { fromHex, toHex } from '../bytes/hex.ts';
import { nameForError } from './field-codec.ts';
import { type Field, type OtherElement, subfieldsOf, type TaggedField } from './rows.ts';
import { type MessageOf, type Spec, specOf } from './spec.ts';

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
