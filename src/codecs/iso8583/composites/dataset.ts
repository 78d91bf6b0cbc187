import { TlvError } from '../../../basics/errors/codec-errors.ts';
import type { Cursor } from '../../bytes/cursor.ts';
import { newRecord, type PlainRecord } from '../../bytes/record.ts';
import type { Sink } from '../../bytes/sink.ts';
import { indexTlv, type TlvIndex } from '../../emv/tlv.ts';
import { type Bits, hasBit, setBit } from '../bitmap.ts';
import { byteCoding } from '../encodings/bytes.ts';
import { decodeError, encodeError, specError } from '../field-codec.ts';
import type { DatasetField, TlvField } from '../rows.ts';
import type { Body } from './bounded.ts';
import { type CompileField, NumberedFields } from './numbered-fields.ts';

/** A value of BER-TLV: kept as bytes, so that order, duplicates and padding survive, and checked both ways. */
export function tlvBody({ allow, onBadChild, encoding = 'binary' }: TlvField, path: string): Body {
  const options = { onBadChild: onBadChild ?? 'refuse' } as const;
  const allowed = allow === undefined ? undefined : new Set(allow);
  const index = (bytes: Uint8Array) => indexTlv(bytes, options);
  const coding = byteCoding(encoding);
  const wireBytes = coding.wireBytes(1);
  return {
    decode(cursor) {
      const from = cursor.position;
      const count = (cursor.end - from) / wireBytes;
      if (!Number.isInteger(count)) throw decodeError('LENGTH_INVALID', path, from, cursor);
      const wrong = coding.firstWrong(cursor.bytes, from, count);
      if (wrong >= 0) throw decodeError('CONTENT_INVALID', path, wrong, cursor);
      const value = coding.read(cursor, from, count);
      const fault = tlvFault(value, index, allowed);
      if (fault !== undefined) throw decodeError(fault.code, path, from + fault.offset * wireBytes, cursor);
      cursor.position = cursor.end;
      return value;
    },
    encode(value, sink) {
      const at = sink.position;
      if (!(value instanceof Uint8Array)) throw encodeError('VALUE_TYPE', path, at, sink);
      const fault = tlvFault(value, index, allowed);
      if (fault !== undefined) throw encodeError(fault.code, path, at + fault.offset * wireBytes, sink);
      const end = at + value.length * wireBytes;
      if (end > sink.end) throw encodeError('TARGET_TOO_SMALL', path, at, sink);
      coding.write(value, sink.target, at);
      sink.position = end;
    },
  };
}

interface Fault {
  readonly code: 'TLV_INVALID' | 'TAG_UNKNOWN';
  readonly offset: number;
}

/** The fault of a value, if any. The tag is withheld, because after a wrong length it can be part of a PAN. */
function tlvFault(
  value: Uint8Array,
  index: (bytes: Uint8Array) => TlvIndex,
  allowed: ReadonlySet<number> | undefined,
): Fault | undefined {
  try {
    const objects = index(value);
    if (allowed === undefined) return undefined;
    for (const object of objects) {
      if (!allowed.has(object.tag)) return { code: 'TAG_UNKNOWN', offset: object.value.byteOffset - value.byteOffset };
    }
    return undefined;
  } catch (error) {
    if (error instanceof TlvError) return { code: 'TLV_INVALID', offset: error.offset };
    throw error;
  }
}

/**
 * The bitmap of a dataset (ISO 8583:2003 4.5.3): two bytes, then single ones. The first bit of each part announces
 * another part; bit 16 announces TLV after the elements. The remaining bits number the elements: 1 to 14, then 16 to
 * 22, 23 to 29 …
 */
const FIRST_PART_BITS = 16;
const PART_BITS = 8;
const TLV_BIT = 16;
/** The number that bit 16 would have. */
const TLV_ELEMENT = TLV_BIT - 1;

/** Maximum number of elements of one dataset; those of the standard have under 30. */
export const MAX_ELEMENT = 71;

/** The property with the TLV after the elements. */
const TLV = 'tlv';

/** A dataset with a bitmap. */
export function datasetBody(field: DatasetField, path: string, compile: CompileField): Body {
  if (TLV_ELEMENT in field.fields) throw specError(`${path}.${TLV_ELEMENT}`, 'this bit announces TLV');
  const fields = new NumberedFields(field.fields, `${path}.`, MAX_ELEMENT, compile, [TLV]);
  const trailer = tlvBody({ kind: 'tlv', name: TLV, min: 0, max: field.max }, `${path}.${TLV}`);
  return {
    decode(cursor) {
      const hasTlv = readDatasetBitmap(cursor, fields.bits, path);
      const record = newRecord(8);
      fields.decode(cursor, record);
      if (hasTlv) record[TLV] = trailer.decode(cursor);
      return record;
    },
    encode(value, sink) {
      if (typeof value !== 'object' || value === null) throw encodeError('VALUE_TYPE', path, sink.position, sink);
      const record = value as PlainRecord;
      try {
        fields.take(record, sink);
        writeDatasetBitmap(sink, fields.bits, record[TLV] !== undefined, path);
        fields.encode(sink);
      } catch (error) {
        fields.forget();
        throw error;
      }
      if (record[TLV] !== undefined) trailer.encode(record[TLV], sink);
    },
  };
}

/** Fills `bits` with the numbers of the elements; returns true if TLV follows them. */
export function readDatasetBitmap(cursor: Cursor, bits: Bits, path: string): boolean {
  bits.fill(0);
  const { bytes } = cursor;
  const at = cursor.position;
  if (at + 2 > cursor.end) throw decodeError('TRUNCATED', `${path}.bitmap`, at, cursor);
  const first = (bytes[at]! << 8) | bytes[at + 1]!;
  for (let element = 1; element < TLV_ELEMENT; element++) {
    if ((first & (0x8000 >> element)) !== 0) setBit(bits, element);
  }
  cursor.position = at + 2;
  let isContinued = (first & 0x8000) !== 0;
  for (let base = FIRST_PART_BITS; isContinued; base += PART_BITS - 1) {
    const partAt = cursor.position;
    if (partAt === cursor.end) throw decodeError('TRUNCATED', `${path}.bitmap`, partAt, cursor);
    if (base > MAX_ELEMENT) throw decodeError('TOO_MANY_ELEMENTS', `${path}.bitmap`, partAt, cursor);
    const part = bytes[partAt]!;
    for (let bit = 1; bit < PART_BITS; bit++) if ((part & (0x80 >> bit)) !== 0) setBit(bits, base + bit - 1);
    cursor.position = partAt + 1;
    isContinued = (part & 0x80) !== 0;
  }
  return (first & 1) !== 0;
}

function writeDatasetBitmap(sink: Sink, bits: Bits, hasTlv: boolean, path: string): void {
  const parts = [hasTlv ? 1 : 0];
  for (let element = 1; element < TLV_ELEMENT; element++) if (hasBit(bits, element)) parts[0]! |= 0x8000 >> element;
  for (let base = FIRST_PART_BITS; base < MAX_ELEMENT; base += PART_BITS - 1) {
    let part = 0;
    for (let bit = 1; bit < PART_BITS; bit++) if (hasBit(bits, base + bit - 1)) part |= 0x80 >> bit;
    parts.push(part);
  }
  while (parts.length > 1 && parts.at(-1) === 0) parts.pop();
  const at = sink.position;
  if (at + parts.length + 1 > sink.end) throw encodeError('TARGET_TOO_SMALL', `${path}.bitmap`, at, sink);
  const isContinued = parts.length > 1;
  sink.target[at] = (parts[0]! >> 8) | (isContinued ? 0x80 : 0);
  sink.target[at + 1] = parts[0]! & 0xff;
  for (let index = 1; index < parts.length; index++) {
    sink.target[at + 1 + index] = parts[index]! | (index + 1 < parts.length ? 0x80 : 0);
  }
  sink.position = at + 1 + parts.length;
}
