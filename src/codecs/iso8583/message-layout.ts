import { Iso8583Error } from '../../basics/errors/codec-errors.ts';
import { Cursor } from '../bytes/cursor.ts';
import { FIELDS_PER_BLOCK, MAX_BLOCKS } from './bitmap.ts';
import { specError } from './field-codec.ts';
import { leafCodec } from './leaves/leaf-codec.ts';
import type { BinaryField, TextField } from './rows.ts';
import type { Spec } from './spec.ts';

/** How many bitmaps the fields of a spec need. */
export function blocksOf(spec: Spec): number {
  const highest = Math.max(0, ...Object.keys(spec.fields).map(Number));
  const needed = Math.max(1, Math.ceil(highest / FIELDS_PER_BLOCK), spec.bitmap.blocks ?? 1);
  if (!(needed <= MAX_BLOCKS)) throw specError('bitmap', `a message has at most ${MAX_BLOCKS} bitmaps`);
  const { form, thirdAt = 65 } = spec.bitmap;
  if (form === 'fixed' && spec.bitmap.thirdAt !== undefined)
    throw specError('bitmap', 'a fixed bitmap has no third part');
  const announcing = form === 'fixed' ? [] : needed === MAX_BLOCKS ? ['1', String(thirdAt)] : ['1'];
  for (const key of announcing) if (key in spec.fields) throw specError(key, 'this bit announces a bitmap');
  return needed;
}

/** The bytes before the MTI, as a field. */
export function headerField({ headerBytes: bytes = 0 }: Spec): BinaryField | undefined {
  if (typeof bytes === 'object') {
    const { lengthOffset, min, max } = bytes;
    return { kind: 'binary', name: 'header', encoding: 'binary', min, max, end: { lengthOffset } };
  }
  return bytes === 0 ? undefined : { kind: 'binary', name: 'header', encoding: 'binary', min: bytes, max: bytes };
}

/** The MTI, as a field. */
export function mtiField({ mti: { encoding } }: Spec): TextField {
  return { kind: 'text', name: 'mti', content: 'n', encoding, min: 4, max: 4, safe: true };
}

/** Reads the MTI of the message from `start` to `end`, and nothing else; undefined if it cannot be read. */
export function mtiReader(spec: Spec): (bytes: Uint8Array, start: number, end: number) => string | undefined {
  const header = headerField(spec);
  const headerCodec = header && leafCodec(header, 'header', spec.encodings);
  const mtiCodec = leafCodec(mtiField(spec), 'mti', spec.encodings);
  return (bytes, start, end) => {
    const cursor = new Cursor(bytes, start, end);
    try {
      headerCodec?.decode(cursor);
      return mtiCodec.decode(cursor) as string;
    } catch (error) {
      if (error instanceof Iso8583Error) return undefined;
      throw error;
    }
  };
}
