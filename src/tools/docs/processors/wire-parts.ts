import { compileSpec } from '../../../codecs/iso8583/codec.ts';
import { prefixCoder } from '../../../codecs/iso8583/prefixes.ts';
import { type Field, subfieldsOf } from '../../../codecs/iso8583/rows.ts';
import type { Spec } from '../../../codecs/iso8583/spec.ts';
import type { IsoMessage } from '../../../kits/processor-kit/iso-message.ts';

/** A part of an encoded message. A composite is a part without a value, followed by the parts inside it. */
export interface WirePart {
  /** `mti`, `bitmap`, or the number of a field with the numbers of the fields that contain it: `127.25.4`. */
  readonly path: string;
  readonly name: string;
  readonly prefix: Uint8Array;
  /** The bytes of the part; of a composite with a bitmap, those of the bitmap. */
  readonly bytes: Uint8Array;
  readonly value: unknown;
}

const NO_BYTES = new Uint8Array();
const MTI = '0000';

/**
 * The parts of a message one after another.
 *
 * @throws Error if they do not add up to the message: a programming error
 */
export function wireParts(spec: Spec, message: IsoMessage): readonly WirePart[] {
  const whole = compileSpec(spec).toBytes(message as never);
  const parts = Object.entries(spec.fields).flatMap(([number, field]) => {
    const value = message[field.name];
    return value === undefined ? [] : partsOf(spec, number, field, value);
  });
  const mti = whole.subarray(0, mtiBytesOf(spec));
  const bitmap = whole.subarray(mti.length, whole.length - lengthOf(parts));
  const all = [plain('mti', 'message type', mti, message.mti), plain('bitmap', 'bitmap', bitmap, undefined), ...parts];
  if (Buffer.compare(Buffer.concat(all.flatMap(({ prefix, bytes }) => [prefix, bytes])), whole) !== 0)
    throw new Error(`The parts of a message of ${spec.name} do not add up`);
  return all;
}

function partsOf(spec: Spec, path: string, field: Field, value: unknown): WirePart[] {
  const whole = bytesOf(spec, field, value);
  const prefixBytes = field.prefix === undefined ? 0 : prefixCoder(field.prefix, spec.encodings.prefix).width;
  const head = { path, name: field.title ?? field.name, prefix: whole.subarray(0, prefixBytes) };
  if (typeof value !== 'object' || value === null || value instanceof Uint8Array)
    return [{ ...head, bytes: whole.subarray(prefixBytes), value }];
  const keys = new Map(Object.entries(subfieldsOf(field)).map(([key, subfield]) => [subfield.name, key]));
  // Elements with tags are written in the order of the value, numbered ones in the order of their numbers.
  const names = field.kind === 'tagged' ? Object.keys(value) : [...keys.keys()];
  const children = names.flatMap((name) => {
    const inner = (value as Readonly<Record<string, unknown>>)[name];
    if (inner === undefined) return [];
    const key = keys.get(name)!;
    const subfield = subfieldsOf(field)[key]!;
    if (field.kind !== 'tagged') return partsOf(spec, `${path}.${key}`, subfield, inner);
    const alone = bytesOf(spec, field, { [name]: inner }).subarray(prefixBytes);
    return withTag(alone, partsOf(spec, `${path}.${key}`, { ...subfield, prefix: field.elementPrefix }, inner));
  });
  const bitmap = whole.subarray(prefixBytes, whole.length - lengthOf(children));
  return [{ ...head, bytes: bitmap, value: undefined }, ...children];
}

/** An element whose length begins after its tag: both are its prefix. */
function withTag(element: Uint8Array, [first, ...inside]: WirePart[]): WirePart[] {
  const tagBytes = element.length - lengthOf([first!, ...inside]);
  return [{ ...first!, prefix: element.subarray(0, tagBytes + first!.prefix.length) }, ...inside];
}

/** The bytes of a field alone, its length prefix included. */
function bytesOf(spec: Spec, field: Field, value: unknown): Uint8Array {
  const alone: Spec = { ...spec, rules: [], bitmap: { encoding: 'binary' }, fields: { 2: field } };
  const bytes = compileSpec(alone).toBytes({ mti: MTI, [field.name]: value } as never);
  return bytes.subarray(mtiBytesOf(spec) + 8);
}

function mtiBytesOf({ mti }: Spec): number {
  return mti.encoding === 'bcd' ? MTI.length / 2 : MTI.length;
}

function plain(path: string, name: string, bytes: Uint8Array, value: unknown): WirePart {
  return { path, name, prefix: NO_BYTES, bytes, value };
}

function lengthOf(parts: readonly WirePart[]): number {
  return parts.reduce((sum, { prefix, bytes }) => sum + prefix.length + bytes.length, 0);
}
