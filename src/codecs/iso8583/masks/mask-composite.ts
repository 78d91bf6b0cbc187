import type { Cursor } from '../../bytes/cursor.ts';
import { type Bits, bitmapCoding, readBits } from '../bitmap.ts';
import { MAX_ELEMENT, readDatasetBitmap } from '../composites/dataset.ts';
import { tagCoding } from '../composites/tag-coding.ts';
import { MAX_ELEMENTS } from '../composites/tagged.ts';
import { decodeError } from '../field-codec.ts';
import type { BitmappedField, DatasetField, Field, FieldTable, PositionalField, TaggedField } from '../rows.ts';
import type { Encodings } from '../spec.ts';
import type { Mask, MaskOf } from './mask.ts';

/** Fields whose presence a bitmap records. */
export class NumberedMasks {
  readonly bits: Bits;
  readonly #path: string;
  /** By number. */
  readonly #masks: (Mask | undefined)[];

  /**
   * `path` is that of the composite with a trailing dot, empty for a message; `size` is the greatest possible
   * number.
   */
  constructor(fields: FieldTable, path: string, size: number, maskOf: MaskOf<Field>) {
    this.bits = new Int32Array(Math.ceil(size / 32));
    this.#path = path;
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
        if (mask === undefined) throw decodeError('FIELD_UNKNOWN', this.#path + number, cursor.position, cursor);
        mask(cursor);
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

export function positionalMask({ fields }: PositionalField, path: string, maskOf: MaskOf<Field>): Mask {
  const masks = fields.map((field, index) => maskOf(field, `${path}.${index + 1}`));
  return (cursor) => {
    for (let index = 0; index < masks.length && cursor.position < cursor.end; index++) masks[index]!(cursor);
  };
}

/** Elements that the spec does not know are masked completely. */
export function taggedMask(field: TaggedField, path: string, maskOf: MaskOf<Field>): Mask {
  const { elementPrefix: prefix, max } = field;
  const tags = tagCoding(field.tag, path);
  const byTag = new Map(
    Object.entries(field.fields).map(([tag, row]) => [tag, maskOf({ ...row, prefix }, `${path}.${tag}`)]),
  );
  const unknown = maskOf({ kind: 'binary', name: 'unknown', encoding: 'binary', min: 0, max, prefix }, `${path}.?`);
  return (cursor) => {
    while (cursor.position < cursor.end) {
      const at = cursor.position;
      if (++cursor.elements > MAX_ELEMENTS) throw decodeError('TOO_MANY_ELEMENTS', path, at, cursor);
      if (at + tags.wireBytes > cursor.end) throw decodeError('TRUNCATED', path, at, cursor);
      const tag = tags.read(cursor.bytes, at);
      if (tag === undefined) throw decodeError('TAG_INVALID', path, at, cursor);
      cursor.position = at + tags.wireBytes;
      (byTag.get(tag) ?? unknown)(cursor);
    }
  };
}
