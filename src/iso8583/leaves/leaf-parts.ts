import type { ValueCoding } from '../encodings/value-coding.ts';
import type { LengthUnits } from './length-units.ts';

/** What a field that is no composite is put together from. */
export interface LeafParts<Value> {
  readonly coding: ValueCoding<Value>;
  readonly units: LengthUnits;
  /** What a value must look like beyond its kinds of characters: the index of the first wrong character, or -1. */
  readonly firstWrong?: ((value: Value) => number) | undefined;
  /** Fills a value up to `min`. */
  readonly pad?: ((value: Value) => Value) | undefined;
  readonly strip?: ((value: Value) => Value) | undefined;
}
