import { fromHex, toHex } from '../bytes/hex.ts';
import { blankPan, blankTrack2 } from './blank-card.ts';
import { aidOf, schemeOfAid } from './scheme.ts';
import { type Kernel, kernelOf, mayShow, tagFacts } from './tags.ts';
import { indexTlv, isConstructed } from './tlv.ts';

const TRACK2 = 0x57;
const PAN = 0x5a;

/** A length of 80 is refused (EMV Book 3 Annex B2): what consists of these is never taken for a template with objects. */
const NO_TLV = 0x80;
/** Nibbles that no PAN and no track has. */
const NO_DIGITS = 0xaa;

/**
 * Overwrites every value that `tlvRows` withholds, in place: objects, order and lengths stay, and of 57 and 5A the digits
 * that may be shown of a PAN. So it is described as it was before.
 *
 * @throws {TlvError} for what is no TLV; nothing is overwritten then
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

/** The longest value of a tag that may be shown, in bytes, and -1 where none may: by kernel, of tags in the dictionary. */
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
  if (facts === undefined) return -1; // not remembered: there are sixteen million of these
  const most = mayShow(tag, 0, kernel) ? (facts.max ?? Number.POSITIVE_INFINITY) : -1;
  known.set(tag, most);
  return most;
}
