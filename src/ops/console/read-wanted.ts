import { isLuhnValid } from '../../emv/card.ts';
import type { Wanted } from '../../store/console/console-search.ts';

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;
/** ISO/IEC 7812-1 allows 8 to 19 digits; issued card numbers have at least 13. */
const PAN = /^\d{13,19}$/;
const MASKED_PAN = /^\d{0,6}\*{3,15}\d{0,4}$/;
const PAN_HASH = /^[\w-]{1,64}:[\w-]{43}$/;
const RRN = /^\d{12}$/;
const STAN = /^\d{6}$/;
/** Queries of the page's buttons; only these two words cannot be searched as a merchant's reference. */
const UNCERTAIN = new Map<string, Wanted>([
  ['is:owed', { by: 'owed' }],
  ['is:review', { by: 'review' }],
]);

/**
 * All possible meanings of the input, most likely first. A PAN is only treated as a PAN, and only `panHashes`
 * receives it.
 *
 * @param panHashes hashes of a PAN under every key of the installation
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
