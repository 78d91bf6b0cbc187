import { fromHex, toHex } from '../bytes/hex.ts';
import { blankPan, blankTrack2 } from './card.ts';
import { aidOf, schemeOfAid } from './scheme.ts';
import { type Kernel, kernelOf, mayShow, tagFacts } from './tags.ts';
import { indexTlv, isConstructed } from './tlv.ts';

const TRACK2 = 0x57;
const PAN = 0x5a;

/**
 * A length of 80 is refused (EMV Book 3 Annex B2), so a value of these bytes is never taken for a template with
 * objects.
 */
const NO_TLV = 0x80;
/** Nibbles that occur in no PAN and no track. */
const NO_DIGITS = 0xaa;

/**
 * Overwrites in place every value that `tlvRows` withholds. Objects, order and lengths stay, and 57 and 5A keep the
 * digits of a PAN that may be shown. The description of the result is therefore unchanged.
 *
 * @throws {TlvError} if the bytes are not TLV; then nothing is overwritten
 */
export function maskTlv(bytes: Uint8Array): void {
  const index = indexTlv(bytes, { onBadChild: 'opaque' });
  const kernel = kernelOf(schemeOfAid(aidOf(index) ?? ''));
  const known = limitsOf(kernel);
  index.visit((tag, start, end, hasChildren) => {
    if (hasChildren) return;
    if (isConstructed(tag)) bytes.fill(NO_TLV, start, end);
    else if (end - start > (known.get(tag) ?? mostShown(tag, kernel, known))) blank(tag, bytes, start, end);
  });
}

function blank(tag: number, bytes: Uint8Array, start: number, end: number): void {
  if (tag !== PAN && tag !== TRACK2) {
    bytes.fill(0, start, end);
    return;
  }
  const text = toHex(bytes, start, end);
  const kept = tag === PAN ? blankPan(text) : blankTrack2(text);
  if (kept === undefined) bytes.fill(NO_DIGITS, start, end);
  else bytes.set(fromHex(kept), start);
}

/** The longest value of a tag that may be shown, in bytes, or -1 if none may; by kernel, for tags in the dictionary. */
const LIMITS = new Map<string, Map<number, number>>();

function limitsOf(kernel: Kernel | undefined): Map<number, number> {
  const known = LIMITS.get(kernel ?? '');
  if (known !== undefined) return known;
  const limits = new Map<number, number>();
  LIMITS.set(kernel ?? '', limits);
  return limits;
}

function mostShown(tag: number, kernel: Kernel | undefined, known: Map<number, number>): number {
  const facts = tagFacts(tag, kernel);
  if (facts === undefined) return -1; // not cached: there are sixteen million of these
  const most = mayShow(tag, 0, kernel) ? (facts.max ?? Number.POSITIVE_INFINITY) : -1;
  known.set(tag, most);
  return most;
}
