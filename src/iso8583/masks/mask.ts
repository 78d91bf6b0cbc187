import type { Cursor } from '../../bytes/cursor.ts';

/**
 * Goes over one field of a message: what may not be shown of it is overwritten in the cursor's bytes, which are a copy, and the
 * cursor moves behind it. It follows lengths, tags and bitmaps as decoding does, and checks no content.
 *
 * @throws {Iso8583Error} where decoding throws for a length, a tag or a bitmap; {TlvError} for what is no TLV
 */
export type Mask = (cursor: Cursor) => void;

/** Makes the mask of one field; given, so that composites can hold composites. */
export type MaskOf<Field> = (field: Field, path: string) => Mask;
