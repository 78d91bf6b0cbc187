import type { ValueCoding } from '../encodings/value-coding.ts';
import type { LengthUnits } from './length-units.ts';

/** The parts of a field that is not a composite. */
export interface LeafParts<Value> {
  readonly coding: ValueCoding<Value>;
  readonly units: LengthUnits;
  /** A check beyond kinds of characters: the index of the first wrong character, or -1. */
  readonly firstWrong?: ((value: Value) => number) | undefined;
  /** Pads a value to `min`. */
  readonly pad?: ((value: Value) => Value) | undefined;
  readonly strip?: ((value: Value) => Value) | undefined;
}
