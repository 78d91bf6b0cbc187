import { toHex } from '../bytes/hex.ts';
import { aidOf } from './scheme.ts';
import type { TlvValues } from './tlv-values.ts';

const KERNEL_IDENTIFIER = 0x9f2a;
/** The two bits that name the owner of the number: 00 EMVCo, 10 and 11 a country (EMV Book B 3.3.2.5). */
const KERNEL_TYPE = 0xc0;
const DOMESTIC = 0x80;
const SHORT_KERNEL_ID = 0x3f;

/** The kernels of registered identifiers, for cards that name no kernel (EMV Book B 3.3.2.5). */
const DEFAULT_KERNELS: Readonly<Record<string, string>> = {
  A000000004: '02',
  A000000003: '03',
  A000000025: '04',
  A000000065: '05',
  A000000152: '06',
  A000000333: '07',
};
const RID_DIGITS = 10;

/**
 * The kernel of a tap in hex: `02`, or three bytes for a domestic one. It comes from 9F2A if the reader sends that
 * tag, otherwise from the registered identifier; undefined if neither names a kernel.
 */
export function kernelIdOf(tap: TlvValues): string | undefined {
  const identifier = tap.value(KERNEL_IDENTIFIER);
  const first = identifier?.[0] ?? 0;
  if (identifier && (first & SHORT_KERNEL_ID) !== 0) {
    const isDomestic = (first & KERNEL_TYPE) >= DOMESTIC;
    return toHex(identifier.subarray(0, isDomestic ? Math.min(3, identifier.length) : 1));
  }
  return DEFAULT_KERNELS[aidOf(tap)?.slice(0, RID_DIGITS) ?? ''];
}
