import { isLuhnValid } from '../../emv/card.ts';
import type { Wanted } from '../../store/console/console-search.ts';

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;
/** ISO/IEC 7812-1 has 8 to 19 digits; shorter than 13 is no card that is issued. */
const PAN = /^\d{13,19}$/;
const MASKED_PAN = /^\d{0,6}\*{3,15}\d{0,4}$/;
const PAN_HASH = /^[\w-]{1,64}:[\w-]{43}$/;
const RRN = /^\d{12}$/;
const STAN = /^\d{6}$/;
/** What the page asks for by a button; no reference of a merchant's is lost by it but these two. */
const UNCERTAIN = new Map<string, Wanted>([
  ['is:owed', { by: 'owed' }],
  ['is:review', { by: 'review' }],
]);

/**
 * Everything that a person can mean by what was typed, the likeliest first. A PAN is nothing but a PAN: it goes no further than
 * `panHashes`.
 *
 * @param panHashes under every key of the installation
 */
export function readWanted(text: string, panHashes: (pan: string) => readonly string[]): readonly Wanted[] {
  const plain = text.trim();
  const uncertain = UNCERTAIN.get(plain);
  if (uncertain) return [uncertain];
  const compact = plain.replace(/[ -]/g, '');
  if (PAN.test(compact) && isLuhnValid(compact)) return [{ by: 'panHash', value: panHashes(compact) }];
  const asReference: Wanted = { by: 'reference', value: plain };
  if (UUID.test(plain)) return [{ by: 'id', value: plain.toLowerCase() }, asReference];
  if (PAN_HASH.test(plain)) return [{ by: 'panHash', value: [plain] }, asReference];
  if (MASKED_PAN.test(compact)) return [{ by: 'maskedPan', value: compact }, asReference];
  if (RRN.test(plain)) return [asReference, { by: 'rrn', value: plain }];
  if (STAN.test(plain)) return [asReference, { by: 'stan', value: plain }];
  return [asReference];
}
