import type { ValueCoding } from '../encodings/value-coding.ts';

/** Converts between the number in a prefix and the length of a value, depending on what the prefix counts. */
export interface LengthUnits {
  /** The prefix of a value of `count`. */
  toLength(count: number): number;
  /** Encoded bytes after a prefix of `length`. */
  wireBytes(length: number): number;
  /** Length of the value at `from` after a prefix of `length`; -1 if no value has that length. */
  toCount(length: number, bytes: Uint8Array, from: number): number;
}

/** Characters of text, bytes of anything else. */
export function valueUnits(coding: Pick<ValueCoding<never>, 'wireBytes'>): LengthUnits {
  return { toLength: (count) => count, wireBytes: coding.wireBytes, toCount: (length) => length };
}

/** Bytes, counted in half bytes. */
export function halfBytes(coding: Pick<ValueCoding<never>, 'wireBytes'>): LengthUnits {
  return {
    toLength: (count) => count * 2,
    wireBytes: (length) => coding.wireBytes((length + 1) >> 1),
    toCount: (length) => ((length & 1) === 0 ? length >> 1 : -1),
  };
}

/**
 * Packed digits, counted in the bytes that they take. A fill nibble `F` shows that the count is odd. A `0` cannot be
 * distinguished from a digit, so an odd count filled with `0` is decoded with the fill, unless it would then exceed
 * `max`.
 */
export function packedBytes(side: 'left' | 'right', fill: '0' | 'F', max: number): LengthUnits {
  return {
    toLength: (count) => (count + 1) >> 1,
    wireBytes: (length) => length,
    toCount(length, bytes, from) {
      const most = Math.min(length * 2, max);
      if (fill === '0' || length === 0) return most;
      const edge = side === 'left' ? bytes[from]! >> 4 : bytes[from + length - 1]! & 0x0f;
      return edge === 0x0f ? length * 2 - 1 : most;
    },
  };
}
