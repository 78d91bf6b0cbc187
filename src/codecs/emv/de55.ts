/**
 * Chip data for an issuer (DE55) and from it. An allow-list selects the tags, so that an unexpected tag is never
 * sent.
 */
import { toHex } from '../bytes/hex.ts';
import { type TlvIndex, tagText, writeTlv } from './tlv.ts';
import type { TlvValues } from './tlv-values.ts';

/** The tags for an issuer, in the order written. They contain no track, PAN, name, expiry or PIN. */
export const DE55_TAGS: readonly number[] = [
  0x82, 0x84, 0x95, 0x9a, 0x9c, 0x5f2a, 0x5f34, 0x9f02, 0x9f03, 0x9f09, 0x9f10, 0x9f1a, 0x9f1e, 0x9f26, 0x9f27, 0x9f33,
  0x9f34, 0x9f35, 0x9f36, 0x9f37, 0x9f41, 0x9f53, 0x9f66, 0x9f6c, 0x9f6e, 0x9f7c,
];

/** The only value that must not occur twice: it signs the others. */
const APPLICATION_CRYPTOGRAM = 0x9f26;

/** The tags that an issuer sends to the card: authentication data, scripts, response code. */
const ISSUER_TAGS: readonly number[] = [0x91, 0x71, 0x72, 0x8a];

/** DE55 is LLLVAR in every dialect: its length has three digits. */
export const MAX_DE55_BYTES = 999;

/** A tag and its value as API responses list them, both in upper-case hex. */
export interface TagValue {
  readonly tag: string;
  readonly value: string;
}

/**
 * Writes DE55 at `offset` of `target`: the tags of `tags` that the tap has and DE55 may carry, in the order of
 * `DE55_TAGS`.
 *
 * @param tags for a switch that accepts fewer tags; tags outside `DE55_TAGS` are not written
 * @returns the offset after it
 * @throws {TlvError} TOO_LARGE if `target` is too small, CONFLICTING_VALUES if the tap has two cryptograms
 */
export function writeDe55(tap: TlvValues, target: Uint8Array, offset: number, tags = DE55_TAGS): number {
  for (const tag of DE55_TAGS) {
    if (tags !== DE55_TAGS && !tags.includes(tag)) continue;
    const value = tag === APPLICATION_CRYPTOGRAM ? tap.single(tag) : tap.value(tag);
    if (value !== undefined) offset = writeTlv(tag, value, target, offset);
  }
  return offset;
}

/** Returns the result of `writeDe55` in a new array. */
export function buildDe55(tap: TlvValues, tags = DE55_TAGS): Uint8Array {
  const target = new Uint8Array(MAX_DE55_BYTES);
  return target.slice(0, writeDe55(tap, target, 0, tags));
}

/** The part of a response's DE55 for the phone: 91, 71, 72 and 8A in their order, repeated scripts too. */
export function issuerTags(response: TlvIndex): TagValue[] {
  const tags: TagValue[] = [];
  for (const { tag, depth, value } of response) {
    if (depth === 0 && ISSUER_TAGS.includes(tag)) tags.push({ tag: tagText(tag), value: toHex(value) });
  }
  return tags;
}
