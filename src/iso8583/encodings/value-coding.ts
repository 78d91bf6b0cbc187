import type { Cursor } from '../../bytes/cursor.ts';

/**
 * How the values of one field lie in bytes, length and padding aside. Nothing is allocated or cut beyond the value
 * itself: a coding is told where to read and writes where it is told (bounds are the caller's to check).
 *
 * `count` is the length of a value: characters of text, bytes of anything else.
 */
export interface ValueCoding<Value> {
  /** Bytes on the wire for a value of that length. */
  wireBytes(count: number): number;
  /** Where the first wrong byte of a value stands, or -1. */
  firstWrong(bytes: Uint8Array, from: number, count: number): number;
  /** The value at `from`, which `firstWrong` has found right. */
  read(cursor: Cursor, from: number, count: number): Value;
  /** Writes a value; gives the offset in `target` at which its first wrong character would have been, or -1. */
  write(value: Value, target: Uint8Array, at: number): number;
}
