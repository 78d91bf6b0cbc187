import { TlvError } from '../../basics/errors/codec-errors.ts';
import { indexTlv, type TlvIndex } from '../emv/tlv.ts';
import { type Field, type OtherElement, subfieldsOf, type TaggedField } from './rows.ts';
import { type Spec, specOf } from './spec.ts';

/** One value of a message with its row. */
export interface Entry {
  /** By number: `127.25.24`. */
  readonly path: string;
  /** Number of composites that contain it. */
  readonly depth: number;
  readonly name: string;
  /** Undefined for an element that the spec does not know. */
  readonly field: Field | undefined;
  readonly value: unknown;
}

/** The values of a message without MTI and header, in the order of the message; a composite precedes its contents. */
export function* walkMessage(spec: Spec, message: object): Generator<Entry, void, undefined> {
  yield* walkRecord(specOf(spec, (message as { readonly mti?: unknown }).mti).fields, message, '', 0);
}

function* walkRecord(
  fields: Readonly<Record<string, Field>>,
  record: object,
  path: string,
  depth: number,
): Generator<Entry, void, undefined> {
  for (const [key, field] of Object.entries(fields)) {
    const value = (record as Readonly<Record<string, unknown>>)[field.name];
    if (value !== undefined) yield* walkField(field, value, path + key, depth);
  }
}

function* walkField(field: Field, value: unknown, path: string, depth: number): Generator<Entry, void, undefined> {
  yield { path, depth, name: field.name, field, value };
  if (typeof value !== 'object' || value === null || value instanceof Uint8Array) return;
  if (field.kind === 'tagged') yield* walkElements(field, value, `${path}.`, depth + 1);
  else yield* walkRecord(subfieldsOf(field), value, `${path}.`, depth + 1);
}

/** Elements in the order in which `others` and the named ones interleave. */
function* walkElements(
  field: TaggedField,
  record: object,
  path: string,
  depth: number,
): Generator<Entry, void, undefined> {
  const tagOf = new Map(Object.entries(field.fields).map(([tag, { name }]) => [name, tag]));
  const { others = [], ...named } = record as { others?: readonly OtherElement[] };
  const elements = Object.entries(named).map(([name, value]) => ({
    tag: tagOf.get(name) ?? name,
    value: value as unknown,
  }));
  for (const { at, tag, value } of others) elements.splice(at, 0, { tag, value });
  for (const { tag, value } of elements) {
    const row = Object.hasOwn(field.fields, tag) ? field.fields[tag] : undefined;
    if (row !== undefined) yield* walkField(row, value, path + tag, depth);
    else yield { path: path + tag, depth, name: 'unknown', field: undefined, value };
  }
}

/** The objects of a TLV value; undefined if it is not TLV, because a description is not a check. */
export function tlvOf(value: Uint8Array): TlvIndex | undefined {
  try {
    return indexTlv(value, { onBadChild: 'opaque' });
  } catch (error) {
    if (error instanceof TlvError) return undefined;
    throw error;
  }
}
