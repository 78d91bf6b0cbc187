/**
 * EMV tags as numbers: 0x9F26 is the tag 9F26. A tag has 1 to 3 bytes (EMV Book 3 Annex B1), and its first byte is
 * never 00, so the number determines how many bytes there are.
 */

/** A tag as EMV writes it: upper-case hex, two digits a byte. */
export function tagText(tag: number): string {
  return tag.toString(16).toUpperCase().padStart(2, '0');
}

/** Results of `readTag` other than a tag. */
export const TAG_TRUNCATED = -1;
export const TAG_TOO_LONG = -2;

/**
 * The tag at `position` of `bytes`, where a byte exists; TAG_TRUNCATED if it continues at `end`, TAG_TOO_LONG over 3
 * bytes.
 */
export function readTag(bytes: Uint8Array, position: number, end: number): number {
  const first = bytes[position]!;
  if ((first & 0x1f) !== 0x1f) return first;
  if (position + 1 === end) return TAG_TRUNCATED;
  const second = bytes[position + 1]!;
  if (second < 0x80) return (first << 8) | second;
  if (position + 2 === end) return TAG_TRUNCATED;
  const third = bytes[position + 2]!;
  return third < 0x80 ? (first << 16) | (second << 8) | third : TAG_TOO_LONG;
}

/** The number of bytes of a tag, 1 to 3. */
export function tagBytes(tag: number): number {
  return tag > 0xffff ? 3 : tag > 0xff ? 2 : 1;
}

/** Bit 6 of the first byte: the value consists of objects. */
export function isConstructed(tag: number): boolean {
  return (firstByte(tag) & 0x20) !== 0;
}

/** True if the number is a tag that is read as itself: complete, no padding, at most 3 bytes. */
export function isTag(tag: number): boolean {
  if (!Number.isInteger(tag) || tag <= 0 || tag > 0xffffff) return false;
  const first = firstByte(tag);
  if (first === 0xff) return isTagWithFf(tag);
  if ((first & 0x1f) !== 0x1f) return tag <= 0xff;
  const last = tag & 0xff;
  return tag > 0xff && last < 0x80 && (tag <= 0xffff || ((tag >> 8) & 0xff) >= 0x80);
}

/** FF60, FF62, FF63 (Visa) and FF8101 to FF8106 (Mastercard): the only tags beginning with FF that are not padding. */
export function isTagWithFf(tag: number): boolean {
  return tag === 0xff60 || tag === 0xff62 || tag === 0xff63 || (tag >= 0xff8101 && tag <= 0xff8106);
}

function firstByte(tag: number): number {
  return tag > 0xffff ? tag >> 16 : tag > 0xff ? tag >> 8 : tag;
}

/** The blobs of a contactless tap are under 2 KB; 64 KB exceeds every template that a card or an issuer can send. */
export const MAX_TLV_BYTES = 65_536;

/** An FCI nests 4 deep (6F, A5, BF0C, 61): 8 open templates leave space for wrappers. */
export const MAX_TLV_DEPTH = 8;

/** DE55 has about 30 objects; everything that a reader keeps of one tap has under 150. */
export const MAX_TLV_OBJECTS = 256;
