import { TlvError } from '../../basics/errors/codec-errors.ts';
import { TapwireError } from '../../basics/errors/tapwire-error.ts';
import { fromHex, toHex } from '../bytes/hex.ts';
import { describeBits } from '../emv/bits.ts';
import { maskPan, parsePan, parseTrack2 } from '../emv/card.ts';
import { type DescribeOptions, describeTlv } from '../emv/describe-tlv.ts';
import { tagName } from '../emv/tags.ts';
import { indexTlv, type TlvIndex } from '../emv/tlv.ts';
import { parseMti } from './message.ts';
import { type Field, type OtherElement, subfieldsOf, type TaggedField } from './rows.ts';
import { type Spec, specOf } from './spec.ts';

/** One value of a message with its row. */
export interface Entry {
  /** Path of the value by numbers: `127.25.24`. */
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
function tlvOf(value: Uint8Array): TlvIndex | undefined {
  try {
    return indexTlv(value, { onBadChild: 'opaque' });
  } catch (error) {
    if (error instanceof TlvError) return undefined;
    throw error;
  }
}

export type { DescribeOptions } from '../emv/describe-tlv.ts';

/** One value of a message, described. */
export interface MessageRow {
  /** Path of the value by numbers: `127.25.24`; `mti` and `header` for these. */
  readonly path: string;
  readonly depth: number;
  /** The title of its row, otherwise its name. */
  readonly name: string;
  /** `n 6`, `ans ..40`, `b 8`; empty for composites, whose values follow. */
  readonly type: string;
  /** The visible form of the value: itself, its masked form, or that it is withheld. */
  readonly value: string;
  readonly withheld: boolean;
  /** The value in words: its objects if it is TLV, its bits, the masked PAN of a track. */
  readonly details: readonly string[];
}

/** The primary account number, in every version of the standard. */
const PAN = '2';

/**
 * One row for each value of a message, in the order of the message. Values are withheld unless their row is marked
 * `safe`. A PAN is shown masked, and TLV as the dictionary of tags allows.
 */
export function messageRows(spec: Spec, message: object, options?: DescribeOptions): MessageRow[] {
  return Array.from(describedValues(spec, message, options), ({ row }) => row);
}

/** A row with the complete value that it describes, withheld or not. */
export interface DescribedValue {
  readonly row: MessageRow;
  readonly value: unknown;
}

/** The rows of `messageRows` with their values, for callers that compare messages. */
export function* describedValues(
  spec: Spec,
  message: object,
  options: DescribeOptions = {},
): Generator<DescribedValue, void, undefined> {
  const { mti, header } = message as { readonly mti?: unknown; readonly header?: unknown };
  if (header instanceof Uint8Array) {
    yield { row: apart('header', 'header', `b ${header.length}`, withheldText(header)), value: header };
  }
  if (typeof mti === 'string') yield { row: apart('mti', 'message type', 'n 4', mtiText(mti)), value: mti };
  for (const entry of walkMessage(spec, message)) yield { row: rowOf(entry, options), value: entry.value };
}

/** `messageRows` as lines of text. */
export function describeMessage(spec: Spec, message: object, options?: DescribeOptions): string[] {
  return linesOf(messageRows(spec, message, options));
}

/** Rows as lines of text. */
export function linesOf(rows: readonly MessageRow[]): string[] {
  const pathWidth = Math.max(0, ...rows.map(({ path, depth }) => path.length + depth * 2));
  const nameWidth = Math.max(0, ...rows.map(({ name }) => name.length));
  const typeWidth = Math.max(0, ...rows.map(({ type }) => type.length));
  const indent = ' '.repeat(pathWidth + 2);
  return rows.flatMap(({ path, depth, name, type, value, details }) => {
    const place = ('  '.repeat(depth) + path).padEnd(pathWidth);
    const line = `${place}  ${name.padEnd(nameWidth)}  ${type.padEnd(typeWidth)}  ${value}`.trimEnd();
    return [line, ...details.map((detail) => indent + detail)];
  });
}

function apart(path: 'mti' | 'header', name: string, type: string, value: string): MessageRow {
  return { path, depth: 0, name, type, value, withheld: path === 'header', details: [] };
}

function rowOf({ path, depth, name, field, value }: Entry, options: DescribeOptions): MessageRow {
  const shown = options.unmasked === true || field?.safe === true;
  const row = {
    path,
    depth,
    name: field?.title ?? name,
    type: field === undefined ? '' : typeOf(field),
    withheld: !shown,
  };
  if (field?.kind === 'tlv' && value instanceof Uint8Array) return { ...row, ...tlvContent(value, options) };
  if (typeof value === 'object' && value !== null && !(value instanceof Uint8Array)) {
    return { ...row, value: '', withheld: false, details: [] };
  }
  if (!shown) return { ...row, ...withheldContent(path, field, value) };
  return { ...row, value: shownText(value), details: field === undefined ? [] : shownDetails(field, value, options) };
}

type Content = Pick<MessageRow, 'value' | 'details' | 'withheld'>;

/** TLV withholds its own values. */
function tlvContent(value: Uint8Array, options: DescribeOptions): Content {
  const index = tlvOf(value);
  if (index === undefined) return { value: withheldText(value), details: [], withheld: true };
  return { value: `${value.length} bytes`, details: describeTlv(index, options), withheld: false };
}

function withheldContent(path: string, field: Field | undefined, value: unknown): Content {
  const content = { value: withheldText(value), details: [], withheld: true };
  if (typeof value !== 'string' || field?.kind !== 'text') return content;
  if (path === PAN) return { ...content, value: wellFormed(() => maskPan(parsePan(value))) ?? content.value };
  if (field.content !== 'z') return content;
  const pan = wellFormed(() => maskPan(parseTrack2(value).pan));
  return pan === undefined ? content : { ...content, details: [`- PAN ${pan}`] };
}

/** The parts of track 2, or the bits of a chip element outside of TLV, as hex text or as bytes. */
function shownDetails(field: Field, value: unknown, { kernel }: DescribeOptions): string[] {
  const { emvTag } = field;
  if (field.kind === 'text' && field.content === 'z' && typeof value === 'string') return trackDetails(value);
  if (emvTag === undefined) return [];
  const bytes =
    value instanceof Uint8Array ? value : typeof value === 'string' ? wellFormed(() => fromHex(value)) : undefined;
  const bits = bytes === undefined ? undefined : describeBits(emvTag, bytes, kernel);
  if (bits !== undefined) return bits.map(({ at, meaning }) => `- ${at}: ${meaning}`);
  const name = tagName(emvTag, kernel);
  return name === undefined ? [] : [`- ${emvTag.toString(16).toUpperCase()} ${name}`];
}

function trackDetails(value: string): string[] {
  const track = wellFormed(() => parseTrack2(value));
  return track === undefined
    ? []
    : [`- PAN ${track.pan}, expiry ${track.expiry}, service code ${track.serviceCode ?? 'none'}`];
}

function mtiText(mti: string): string {
  const parts = parseMti(mti);
  const words = parts === undefined ? '' : ` (${parts.class} ${parts.function}, ${parts.origin}, ${parts.version})`;
  return printable(mti) + words;
}

function typeOf(field: Field): string {
  const length = field.min === field.max ? `${field.max}` : `..${field.max}`;
  if (field.kind === 'text') return `${field.content} ${length}`;
  if (field.kind === 'binary') return `b ${length}`;
  return field.kind === 'tlv' ? `TLV ${length}` : '';
}

function shownText(value: unknown): string {
  if (value instanceof Uint8Array) return toHex(value);
  return typeof value === 'string' ? printable(value) : '[no text]';
}

function withheldText(value: unknown): string {
  if (value instanceof Uint8Array) return `[withheld, ${count(value.length, 'byte')}]`;
  return typeof value === 'string' ? `[withheld, ${count(value.length, 'character')}]` : '[withheld]';
}

function count(amount: number, unit: string): string {
  return amount === 1 ? `1 ${unit}` : `${amount} ${unit}s`;
}

/** Escapes characters that a terminal would interpret or that are invisible. */
function printable(text: string): string {
  return text.replace(/[^\x20-\x7e]/g, (character) => {
    return `\\x${character.charCodeAt(0).toString(16).toUpperCase().padStart(2, '0')}`;
  });
}

/** The result of `make`; undefined for a value that does not match its field, because a description is not a check. */
function wellFormed<Result>(make: () => Result): Result | undefined {
  try {
    return make();
  } catch (error) {
    if (error instanceof TapwireError) return undefined;
    throw error;
  }
}
