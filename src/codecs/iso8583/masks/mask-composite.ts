import type { Cursor } from '../../bytes/cursor.ts';
import { type Bits, bitmapCoding, type FieldBitmap, readBits } from '../bitmap.ts';
import { MAX_ELEMENT, readDatasetBitmap } from '../composites/dataset.ts';
import { elementCoding } from '../composites/element-coding.ts';
import { forEachPart, rowsOf } from '../composites/positional.ts';
import { MAX_ELEMENTS, unknownRow } from '../composites/tagged.ts';
import { decodeError } from '../field-codec.ts';
import type { BitmappedField, DatasetField, Field, FieldTable, PositionalField, TaggedField } from '../rows.ts';
import type { Encodings } from '../spec.ts';
import type { Mask, MaskOf } from './mask.ts';

/** Fields whose presence a bitmap records. */
export class NumberedMasks {
  readonly bits: Bits;
  readonly #path: string;
  readonly #third: FieldBitmap | undefined;
  /** By number. */
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

export function bitmappedMask(
  { bitmap, fields }: BitmappedField,
  path: string,
  encodings: Encodings,
  maskOf: MaskOf<Field>,
): Mask {
  const coding = bitmapCoding(bitmap.encoding ?? encodings.binary);
  const masks = new NumberedMasks(fields, `${path}.`, bitmap.bytes * 8, maskOf);
  return (cursor) => {
    readBits(coding, cursor, masks.bits, 0, bitmap.bytes, `${path}.bitmap`);
    masks.mask(cursor);
  };
}

export function datasetMask({ fields }: DatasetField, path: string, maskOf: MaskOf<Field>, maskTlv: Mask): Mask {
  const masks = new NumberedMasks(fields, `${path}.`, MAX_ELEMENT, maskOf);
  return (cursor) => {
    const hasTlv = readDatasetBitmap(cursor, masks.bits, path);
    masks.mask(cursor);
    if (hasTlv) maskTlv(cursor);
  };
}

export function positionalMask(field: PositionalField, path: string, maskOf: MaskOf<Field>): Mask {
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
export function taggedMask(field: TaggedField, path: string, encodings: Encodings, maskOf: MaskOf<Field>): Mask {
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
