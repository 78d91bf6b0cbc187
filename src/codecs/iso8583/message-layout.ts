import { FIELDS_PER_BLOCK, MAX_BLOCKS } from './bitmap.ts';
import { specError } from './field-codec.ts';
import type { BinaryField } from './rows.ts';
import type { Spec } from './spec.ts';

/** How many bitmaps the fields of a spec need. */
export function blocksOf(spec: Spec): number {
  const highest = Math.max(0, ...Object.keys(spec.fields).map(Number));
  const needed = Math.max(1, Math.ceil(highest / FIELDS_PER_BLOCK), spec.bitmap.blocks ?? 1);
  if (!(needed <= MAX_BLOCKS)) throw specError('bitmap', `a message has at most ${MAX_BLOCKS} bitmaps`);
  const announcing = spec.bitmap.form === 'fixed' ? [] : needed === MAX_BLOCKS ? ['1', '65'] : ['1'];
  for (const key of announcing) if (key in spec.fields) throw specError(key, 'this bit announces a bitmap');
  return needed;
}

/** The bytes before the MTI, as a field. */
export function headerField({ headerBytes: bytes = 0 }: Spec): BinaryField | undefined {
  return bytes === 0 ? undefined : { kind: 'binary', name: 'header', encoding: 'binary', min: bytes, max: bytes };
}
