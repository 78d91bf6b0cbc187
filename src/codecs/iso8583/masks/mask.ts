import type { Cursor } from '../../bytes/cursor.ts';

/**
 * Processes one field of a message: overwrites everything that must not be shown in the cursor's bytes, which are a
 * copy, and moves the cursor past it. It follows lengths, tags and bitmaps as decoding does, and checks no content.
 *
 * @throws {Iso8583Error} where decoding throws for a length, a tag or a bitmap; {TlvError} if a value is not TLV
 */
export type Mask = (cursor: Cursor) => void;

/** Creates the mask of one field; a parameter, so that composites can contain composites. */
export type MaskOf<Field> = (field: Field, path: string) => Mask;
