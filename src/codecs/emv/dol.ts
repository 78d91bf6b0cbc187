/** Data object lists (EMV Book 3 5.4): the values that a card requests, as tags and lengths in its order. */
import { TlvError } from '../../basics/errors/codec-errors.ts';
import { isTag, readTag, TAG_TRUNCATED, tagBytes } from './tag-number.ts';

/** PDOL, CDOL and DDOL have at most 252 bytes (EMV Book 3 Annex A). */
export const MAX_DOL_BYTES = 252;
/** The requested values travel in one command, whose data have at most 255 bytes (EMV Book 1 9.4.1). */
export const MAX_DOL_DATA_BYTES = 255;

export interface DolEntry {
  readonly tag: number;
  readonly lengthBytes: number;
}

/**
 * The entries of a DOL, in order.
 *
 * @throws {TlvError} TAG_TRUNCATED, TAG_TOO_LONG, TAG_INVALID (a list must not contain padding), LENGTH_MISSING,
 * TOO_LARGE (the list, or the requested data), each with its offset in the list
 */
export function parseDol(bytes: Uint8Array): DolEntry[] {
  if (bytes.length > MAX_DOL_BYTES) throw new TlvError('TOO_LARGE', MAX_DOL_BYTES);
  const entries: DolEntry[] = [];
  let dataBytes = 0;
  let position = 0;
  while (position < bytes.length) {
    const tag = readTag(bytes, position, bytes.length);
    if (tag < 0) throw new TlvError(tag === TAG_TRUNCATED ? 'TAG_TRUNCATED' : 'TAG_TOO_LONG', position);
    if (!isTag(tag)) throw new TlvError('TAG_INVALID', position, tag);
    const lengthOffset = position + tagBytes(tag);
    if (lengthOffset === bytes.length) throw new TlvError('LENGTH_MISSING', lengthOffset, tag);
    const lengthBytes = bytes[lengthOffset]!;
    dataBytes += lengthBytes;
    if (dataBytes > MAX_DOL_DATA_BYTES) throw new TlvError('TOO_LARGE', lengthOffset, tag);
    entries.push({ tag, lengthBytes });
    position = lengthOffset + 1;
  }
  return entries;
}
