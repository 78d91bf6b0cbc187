import type { Cursor } from '../../bytes/cursor.ts';
import { maskTlv } from '../../emv/mask-tlv.ts';
import { type Bits, compositeBitmap, type FieldBitmap } from '../bitmap.ts';
import { bounded } from '../composites/bounded.ts';
import { MAX_ELEMENT, readDatasetBitmap } from '../composites/dataset.ts';
import { forEachPart, rowsOf } from '../composites/positional.ts';
import { elementCoding, MAX_ELEMENTS, unknownRow } from '../composites/tagged.ts';
import { byteCoding } from '../encodings/bytes.ts';
import { decodeError } from '../field-codec.ts';
import type {
  BitmappedField,
  DatasetField,
  Field,
  FieldTable,
  PositionalField,
  TaggedField,
  TlvField,
} from '../rows.ts';
import type { Encodings } from '../spec.ts';
import { leafMask, type Mask, type MaskOf } from './mask-leaf.ts';

/** Fields whose presence a bitmap records. */
export class NumberedMasks {
  readonly bits: Bits;
  readonly #path: string;
  readonly #third: FieldBitmap | undefined;
  /** The masks of the fields, by number. */
  readonly #masks: (Mask | undefined)[];

  /**
   * `path` is that of the composite with a trailing dot, empty for a message; `size` is the greatest possible
   * number.
   */
  constructor(fields: FieldTable, path: string, size: number, maskOf: MaskOf<Field>, third?: FieldBitmap) {
    this.bits = new Int32Array(Math.ceil(size / 32));
    this.#path = path;
    this.#third = third;
    this.#masks = new Array(size + 1).fill(undefined);
    for (const [key, field] of Object.entries(fields)) this.#masks[Number(key)] = maskOf(field, path + key);
  }

  /** Processes the fields that `bits` names, in order. */
  mask(cursor: Cursor): void {
    const { bits } = this;
    for (let word = 0; word < bits.length; word++) {
      let rest = bits[word]!;
      while (rest !== 0) {
        const bit = Math.clz32(rest);
        rest ^= 0x80000000 >>> bit;
        const number = (word << 5) + bit + 1;
        const mask = this.#masks[number];
        if (mask !== undefined) mask(cursor);
        else if (number === this.#third?.at) this.#third.read(cursor, bits);
        else throw decodeError('FIELD_UNKNOWN', this.#path + number, cursor.position, cursor);
      }
    }
  }
}

function bitmappedMask(field: BitmappedField, path: string, encodings: Encodings, maskOf: MaskOf<Field>): Mask {
  const bitmap = compositeBitmap(field, encodings.binary, path);
  const masks = new NumberedMasks(field.fields, `${path}.`, field.bitmap.bytes * 8, maskOf);
  return (cursor) => {
    bitmap.read(cursor, masks.bits);
    masks.mask(cursor);
  };
}

function datasetMask({ fields }: DatasetField, path: string, maskOf: MaskOf<Field>, maskTlv: Mask): Mask {
  const masks = new NumberedMasks(fields, `${path}.`, MAX_ELEMENT, maskOf);
  return (cursor) => {
    const hasTlv = readDatasetBitmap(cursor, masks.bits, path);
    masks.mask(cursor);
    if (hasTlv) maskTlv(cursor);
  };
}

function positionalMask(field: PositionalField, path: string, maskOf: MaskOf<Field>): Mask {
  const { separator } = field;
  const masks = rowsOf(field, path).map((row, index) => maskOf(row, `${path}.${index + 1}`));
  if (separator !== undefined) {
    return (cursor) => forEachPart(cursor, separator, masks.length, path, (index) => masks[index]!(cursor));
  }
  return (cursor) => {
    for (let index = 0; index < masks.length && cursor.position < cursor.end; index++) masks[index]!(cursor);
  };
}

/** Elements that the spec does not know are masked completely. */
function taggedMask(field: TaggedField, path: string, encodings: Encodings, maskOf: MaskOf<Field>): Mask {
  const coding = elementCoding(field, path, encodings);
  const byTag = new Map(
    Object.entries(field.fields).map(([tag, row]) => [tag, maskOf(coding.rowOf(row), `${path}.${tag}`)]),
  );
  const unknown = maskOf(unknownRow(field, coding, encodings), `${path}.?`);
  return (cursor) => {
    const { end } = cursor;
    while (cursor.position < end) {
      if (++cursor.elements > MAX_ELEMENTS) throw decodeError('TOO_MANY_ELEMENTS', path, cursor.position, cursor);
      const mask = byTag.get(coding.begin(cursor)) ?? unknown;
      mask(cursor);
      coding.end(cursor, end);
    }
  };
}

/** Compiles the mask of one field. The spec was compiled before, which has revealed any fault of it. */
export function fieldMask(field: Field, path: string, encodings: Encodings): Mask {
  if (field.kind === 'text' || field.kind === 'binary') return leafMask(field, path, encodings);
  const decode = bodyMask(field, path, encodings);
  return bounded({ decode, encode: neverEncodes }, field, path, encodings).decode;
}

function bodyMask(field: Exclude<Field, { kind: 'text' | 'binary' }>, path: string, encodings: Encodings): Mask {
  const inside: MaskOf<Field> = (inner, innerPath) => fieldMask(inner, innerPath, encodings);
  switch (field.kind) {
    case 'tlv':
      return tlvMaskOf(field);
    case 'positional':
      return positionalMask(field, path, inside);
    case 'tagged':
      return taggedMask(field, path, encodings, inside);
    case 'bitmapped':
      return bitmappedMask(field, path, encodings, inside);
    case 'dataset':
      return datasetMask(field, path, inside, tlvMask);
  }
}

/** TLV masks its values according to the dictionary of tags. */
const tlvMask: Mask = (cursor) => {
  maskTlv(cursor.view(cursor.position, cursor.end));
  cursor.position = cursor.end;
};

/** TLV as hex digits is masked as bytes and written again. */
function tlvMaskOf({ encoding = 'binary' }: TlvField): Mask {
  if (encoding === 'binary') return tlvMask;
  const coding = byteCoding(encoding);
  return (cursor) => {
    const { position, end, bytes } = cursor;
    const value = coding.read(cursor, position, (end - position) >> 1);
    bytes.fill(0, position, end); // also if the next line fails
    maskTlv(value);
    coding.write(value, bytes, position);
    cursor.position = end;
  };
}

function neverEncodes(): never {
  throw new Error('a mask encodes nothing');
}
