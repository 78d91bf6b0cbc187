import { TlvError } from '../../basics/errors/codec-errors.ts';
import { isConstructed, isTag, MAX_TLV_BYTES, MAX_TLV_DEPTH, MAX_TLV_OBJECTS, tagBytes } from './tag-number.ts';

/** Input of `encodeTlv`: the bytes of the value, or the objects inside a template. */
export type TlvNode =
  | { readonly tag: number; readonly value: Uint8Array; readonly children?: undefined }
  | { readonly tag: number; readonly children: readonly TlvNode[]; readonly value?: undefined };

/** A header to write, in the order of the bytes, with its value unless the objects of a template follow. */
interface PlannedObject {
  readonly tag: number;
  readonly value: Uint8Array | undefined;
  lengthBytes: number;
}

/**
 * Encodes objects in their order, duplicates too, each length in its minimal form. `indexTlv` can read the result.
 * If a template has a `value` that is not TLV, this needs `onBadChild: 'opaque'`.
 *
 * @throws {TlvError} TAG_INVALID for a tag that would not be read as itself or children under a primitive tag,
 * TOO_DEEP, TOO_MANY_OBJECTS, TOO_LARGE; the offset is 0, because there are no bytes yet
 */
export function encodeTlv(objects: readonly TlvNode[]): Uint8Array {
  const planned: PlannedObject[] = [];
  const target = new Uint8Array(planObjects(objects, 0, planned));
  let offset = 0;
  for (const { tag, value, lengthBytes } of planned) {
    offset = writeHeader(tag, lengthBytes, target, offset);
    if (value === undefined) continue;
    target.set(value, offset);
    offset += lengthBytes;
  }
  return target;
}

/**
 * Writes one object at `offset` of `target`, with its value unchanged.
 *
 * @returns the offset after it
 * @throws {TlvError} TAG_INVALID, or TOO_LARGE if `target` has too little space
 */
export function writeTlv(tag: number, value: Uint8Array, target: Uint8Array, offset: number): number {
  if (!isTag(tag)) throw new TlvError('TAG_INVALID', offset, tag);
  if (objectBytes(tag, value.length) > target.length - offset) throw new TlvError('TOO_LARGE', offset, tag);
  const valueAt = writeHeader(tag, value.length, target, offset);
  target.set(value, valueAt);
  return valueAt + value.length;
}

/** Lists what to write and returns its size in bytes. The recursion ends at MAX_TLV_DEPTH. */
function planObjects(objects: readonly TlvNode[], depth: number, planned: PlannedObject[]): number {
  let bytes = 0;
  for (const { tag, value, children } of objects) {
    if (!isTag(tag) || (children !== undefined && !isConstructed(tag))) throw new TlvError('TAG_INVALID', 0, tag);
    if (isConstructed(tag) && depth === MAX_TLV_DEPTH) throw new TlvError('TOO_DEEP', 0, tag);
    if (planned.length === MAX_TLV_OBJECTS) throw new TlvError('TOO_MANY_OBJECTS', 0, tag);
    const object: PlannedObject = { tag, value, lengthBytes: 0 };
    planned.push(object);
    object.lengthBytes = children === undefined ? value.length : planObjects(children, depth + 1, planned);
    bytes += objectBytes(tag, object.lengthBytes);
    if (bytes > MAX_TLV_BYTES) throw new TlvError('TOO_LARGE', 0, tag);
  }
  return bytes;
}

function objectBytes(tag: number, valueBytes: number): number {
  const lengthBytes = valueBytes < 0x80 ? 1 : valueBytes <= 0xff ? 2 : valueBytes <= 0xffff ? 3 : 4;
  return tagBytes(tag) + lengthBytes + valueBytes;
}

/** Tag and minimal length (EMV Book 3 Annex B2). */
function writeHeader(tag: number, valueBytes: number, target: Uint8Array, offset: number): number {
  if (tag > 0xffff) target[offset++] = tag >> 16;
  if (tag > 0xff) target[offset++] = tag >> 8;
  target[offset++] = tag;
  if (valueBytes < 0x80) {
    target[offset++] = valueBytes;
    return offset;
  }
  const more = valueBytes <= 0xff ? 1 : valueBytes <= 0xffff ? 2 : 3;
  target[offset++] = 0x80 | more;
  for (let shift = (more - 1) * 8; shift >= 0; shift -= 8) target[offset++] = valueBytes >> shift;
  return offset;
}
