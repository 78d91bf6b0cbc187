import { Iso8583Error, TlvError } from '../../basics/errors/codec-errors.ts';
import { Cursor } from '../bytes/cursor.ts';
import type { PlainRecord } from '../bytes/record.ts';
import { bounded } from './composites/bounded.ts';
import type { FieldCodec } from './field-codec.ts';
import { leafCodec, leafVisitor } from './leaves/leaf-codec.ts';
import { MessageWalk } from './masks/message-walk.ts';
import type { Field, TextField } from './rows.ts';
import { derivedSpec, type Spec } from './spec.ts';

/** Called with the value of a field, without its length prefix: `from` to `to` of the bytes. */
type OnWireField = (field: Field, path: string, from: number, to: number) => void;

/** A walk that visits every field of a message, composites as a whole. The first is `mti`, or `header` if there is one. */
function wireWalk(spec: Spec, onField: OnWireField): MessageWalk {
  return new MessageWalk(spec, (field, path) => {
    const visit = (cursor: Cursor, from: number, to: number) => {
      onField(field, path, from, to);
      cursor.position = to;
    };
    if (field.kind === 'text' || field.kind === 'binary') return leafVisitor(field, path, spec.encodings, visit);
    const decode = (cursor: Cursor) => visit(cursor, cursor.position, cursor.end);
    return bounded({ decode, encode: neverEncodes }, field, path, spec.encodings).decode;
  });
}

/** The value of a field in a message. */
export interface WireField {
  readonly field: Field;
  /** Number of the field, `mti` or `header`. */
  readonly path: string;
  readonly from: number;
  readonly to: number;
}

/** The walk of each spec, with the list that it fills: a bad message must not cost the compilation of a spec. */
const WALKS = new WeakMap<Spec, { readonly walk: MessageWalk; found: WireField[] }>();

/** The fields of a message in their order, as far as it can be followed. */
export function wireFields(spec: Spec, bytes: Uint8Array): WireField[] {
  const each = walkOf(spec);
  const found: WireField[] = [];
  each.found = found;
  try {
    each.walk.walk(new Cursor(bytes, 0, bytes.length));
  } catch (error) {
    if (!(error instanceof Iso8583Error) && !(error instanceof TlvError)) throw error;
  }
  each.found = [];
  return found;
}

function walkOf(spec: Spec) {
  const known = WALKS.get(spec);
  if (known !== undefined) return known;
  const walk = wireWalk(spec, (field, path, from, to) => made.found.push({ field, path, from, to }));
  const made: { readonly walk: MessageWalk; found: WireField[] } = { walk, found: [] };
  WALKS.set(spec, made);
  return made;
}

function neverEncodes(): never {
  throw new Error('a walk encodes nothing');
}

/** Where a field begins and ends in the message; both -1 if it is absent. */
interface Place {
  from: number;
  to: number;
}

/**
 * The values of a message as they are encoded, with their padding and without their length prefix. One object serves one
 * message after another.
 */
export class WireValues {
  readonly #walk: MessageWalk;
  readonly #places = new Map<string, Place>();
  #bytes: Uint8Array = new Uint8Array();
  #start = 0;
  #end = 0;
  #isWalked = true;

  constructor(spec: Spec) {
    const specs = [spec, ...(spec.layouts ?? []).map((layout) => derivedSpec(spec, layout))];
    const fields = specs.flatMap((each) => Object.values(each.fields));
    for (const name of ['header', 'mti', ...fields.map((field) => field.name)])
      this.#places.set(name, { from: -1, to: -1 });
    this.#walk = wireWalk(spec, ({ name }, _path, from, to) => {
      const place = this.#places.get(name)!;
      place.from = from;
      place.to = to;
    });
  }

  /** Turns to the message from `start` to `end`, which a codec of the same spec has read or written. */
  turnTo(bytes: Uint8Array, start: number, end: number): this {
    this.#bytes = bytes;
    this.#start = start;
    this.#end = end;
    this.#isWalked = false;
    return this;
  }

  /**
   * A view of the value of a field of the message, or of `mti`; undefined if it is absent. The message is followed at the
   * first call.
   *
   * @throws {Iso8583Error} if the message does not follow the spec
   */
  valueOf(name: string): Uint8Array | undefined {
    if (!this.#isWalked) this.#followMessage();
    const place = this.#places.get(name);
    return place === undefined || place.from < 0 ? undefined : this.#bytes.subarray(place.from, place.to);
  }

  /**
   * The values of these fields one after another with a byte between them, empty for an absent field. A MAC over some
   * fields of every message takes them often, so this creates no view of each.
   */
  joined(names: readonly string[], separator: number): Uint8Array {
    if (!this.#isWalked) this.#followMessage();
    const bytes = this.#bytes;
    const places = names.map((name) => this.#places.get(name));
    const length = places.reduce((sum, place) => sum + lengthOf(place), Math.max(0, places.length - 1));
    const joined = new Uint8Array(length);
    let at = 0;
    for (const [index, place] of places.entries()) {
      if (index > 0) joined[at++] = separator;
      if (lengthOf(place) > 0) for (let from = place!.from; from < place!.to; from++) joined[at++] = bytes[from]!;
    }
    return joined;
  }

  #followMessage(): void {
    for (const place of this.#places.values()) place.from = -1;
    this.#walk.walk(new Cursor(this.#bytes, this.#start, this.#end));
    this.#isWalked = true;
  }
}

function lengthOf(place: Place | undefined): number {
  return place === undefined || place.from < 0 ? 0 : place.to - place.from;
}

/** A switch may send any number of faulty messages, so the codec of a field is made once. */
const codecs = new WeakMap<Spec, WeakMap<TextField, FieldCodec>>();

/**
 * The texts of fixed length of a message that has a fault in the content of one of its fields: among them are those that
 * pair a response with its request, and most of these come after the card number and the amount.
 */
export function fieldsAfterFault(spec: Spec, bytes: Uint8Array): PlainRecord {
  const found: PlainRecord = {};
  for (const { field, path, from, to } of wireFields(spec, bytes)) {
    if (field.kind !== 'text' || field.prefix !== undefined || path === 'mti') continue;
    try {
      found[field.name] = codecOf(spec, field, path).decode(new Cursor(bytes, from, to));
    } catch (error) {
      if (!(error instanceof Iso8583Error)) throw error;
    }
  }
  return found;
}

/** The first path of a field that several composites share names it in faults, which are not reported here. */
function codecOf(spec: Spec, field: TextField, path: string): FieldCodec {
  let ofSpec = codecs.get(spec);
  if (ofSpec === undefined) {
    ofSpec = new WeakMap();
    codecs.set(spec, ofSpec);
  }
  let codec = ofSpec.get(field);
  if (codec === undefined) {
    codec = leafCodec(field, path, spec.encodings);
    ofSpec.set(field, codec);
  }
  return codec;
}
