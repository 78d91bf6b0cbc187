import { TlvError } from '../../basics/errors/codec-errors.ts';

/** Values by tag: one `TlvIndex`, or several joined. Reading a tap requires nothing else. */
export interface TlvValues {
  has(tag: number): boolean;
  /** The first value of the tag, a view of the blob. */
  value(tag: number): Uint8Array | undefined;
  /** The first value of the tag in upper-case hex. */
  hex(tag: number): string | undefined;
  /**
   * The only value of the tag, which may occur repeatedly.
   *
   * @throws {TlvError} CONFLICTING_VALUES if two of its values differ
   */
  single(tag: number): Uint8Array | undefined;
}

/** Several blobs of one tap as one set of values; for `value` and `hex`, the first blob that has the tag wins. */
export function joinTlv(...blobs: readonly TlvValues[]): TlvValues {
  return {
    has: (tag) => blobs.some((blob) => blob.has(tag)),
    value: (tag) => {
      for (const blob of blobs) {
        const found = blob.value(tag);
        if (found !== undefined) return found;
      }
      return undefined;
    },
    hex: (tag) => {
      for (const blob of blobs) {
        const found = blob.hex(tag);
        if (found !== undefined) return found;
      }
      return undefined;
    },
    single: (tag) => {
      let first: Uint8Array | undefined;
      for (const blob of blobs) {
        const found = blob.single(tag);
        if (first !== undefined && found !== undefined && Buffer.compare(first, found) !== 0) {
          throw new TlvError('CONFLICTING_VALUES', 0, tag);
        }
        first ??= found;
      }
      return first;
    },
  };
}
