import { maskTlv } from '../../emv/mask-tlv.ts';
import { bounded } from '../composites/bounded.ts';
import { byteCoding } from '../encodings/bytes.ts';
import type { Field, TlvField } from '../rows.ts';
import type { Encodings } from '../spec.ts';
import type { Mask, MaskOf } from './mask.ts';
import { bitmappedMask, datasetMask, positionalMask, taggedMask } from './mask-composite.ts';
import { leafMask } from './mask-leaf.ts';

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
