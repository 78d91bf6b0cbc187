/** Chip data on its way to an issuer (DE55) and back: by allow-list, so that what nobody thought of stays here. */
import { toHex } from '../bytes/hex.ts';
import { type TlvIndex, tagText, writeTlv } from './tlv.ts';
import type { TlvValues } from './tlv-values.ts';

/** What goes to an issuer, in the order written. No track, PAN, name, expiry or PIN is among them. */
export const DE55_TAGS: readonly number[] = [
  0x82, 0x84, 0x95, 0x9a, 0x9c, 0x5f2a, 0x5f34, 0x9f02, 0x9f03, 0x9f09, 0x9f10, 0x9f1a, 0x9f1e, 0x9f26, 0x9f27, 0x9f33,
  0x9f34, 0x9f35, 0x9f36, 0x9f37, 0x9f41, 0x9f53, 0x9f66, 0x9f6c, 0x9f6e, 0x9f7c,
];

/** The one value that may not stand there twice: it signs the others. */
const APPLICATION_CRYPTOGRAM = 0x9f26;

/** What an issuer sends to the card: authentication data, scripts, response code. */
const ISSUER_TAGS: readonly number[] = [0x91, 0x71, 0x72, 0x8a];

/** DE55 is LLLVAR in every dialect: its length has three digits. */
export const MAX_DE55_BYTES = 999;

/** A tag and its value as answers list them, both in upper-case hex. */
export interface TagValue {
  readonly tag: string;
  readonly value: string;
}

/**
 * Writes DE55 at `offset` of `target`: those of `tags` that the tap has and DE55 may carry, in the order of `DE55_TAGS`.
 *
 * @param tags what a switch wants, when it wants fewer; tags outside `DE55_TAGS` are not written
 * @returns the offset after it
 * @throws {TlvError} TOO_LARGE when `target` has no room, CONFLICTING_VALUES when the tap has two cryptograms
 */
export function writeDe55(tap: TlvValues, target: Uint8Array, offset: number, tags = DE55_TAGS): number {
  for (const tag of DE55_TAGS) {
    if (tags !== DE55_TAGS && !tags.includes(tag)) continue;
    const value = tag === APPLICATION_CRYPTOGRAM ? tap.single(tag) : tap.value(tag);
    if (value !== undefined) offset = writeTlv(tag, value, target, offset);
  }
  return offset;
}

/** `writeDe55` as bytes of their own. */
export function buildDe55(tap: TlvValues, tags = DE55_TAGS): Uint8Array {
  const target = new Uint8Array(MAX_DE55_BYTES);
  return target.slice(0, writeDe55(tap, target, 0, tags));
}

/** What of a response's DE55 goes back to the phone: 91, 71, 72 and 8A in their order, repeated scripts too. */
export function issuerTags(response: TlvIndex): TagValue[] {
  const tags: TagValue[] = [];
  for (const { tag, depth, value } of response) {
    if (depth === 0 && ISSUER_TAGS.includes(tag)) tags.push({ tag: tagText(tag), value: toHex(value) });
  }
  return tags;
}
