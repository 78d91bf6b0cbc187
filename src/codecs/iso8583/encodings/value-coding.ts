import type { Cursor } from '../../bytes/cursor.ts';

/**
 * The byte encoding of one field's values, without length and padding. Only the value itself is allocated. The
 * caller passes the position to read or write, and has checked the bounds.
 *
 * `count` is the length of a value: characters of text, bytes of anything else.
 */
export interface ValueCoding<Value> {
  /** Encoded bytes of a value of that length. */
  wireBytes(count: number): number;
  /** Position of the first wrong byte of a value, or -1. */
  firstWrong(bytes: Uint8Array, from: number, count: number): number;
  /** The value at `from`, which `firstWrong` has accepted. */
  read(cursor: Cursor, from: number, count: number): Value;
  /** Writes a value; returns the offset in `target` of its first wrong character, or -1. */
  write(value: Value, target: Uint8Array, at: number): number;
}
