import { toHex } from '../bytes/hex.ts';
import type { TlvValues } from './tlv-values.ts';

/** The international schemes as responses name them. A domestic scheme is any other name in the table below. */
export type Scheme = 'Visa' | 'Mastercard' | 'Maestro' | 'Amex' | 'JCB' | 'UnionPay' | 'Discover' | DomesticScheme;

type DomesticScheme =
  | 'Bancomat'
  | 'CB'
  | 'Dankort'
  | 'eftpos'
  | 'Elo'
  | 'girocard'
  | 'Interac'
  | 'mada'
  | 'Mir'
  | 'NAPAS'
  | 'RuPay'
  | 'Troy'
  | 'Verve';

/** Registered identifiers (ISO/IEC 7816-5) and, where one identifier serves two schemes, the extension too. */
const AID_PREFIXES: readonly (readonly [prefix: string, scheme: Scheme])[] = [
  ['A000000003', 'Visa'],
  ['A000000098', 'Visa'],
  ['A000000004', 'Mastercard'],
  ['A0000000042203', 'Maestro'],
  ['A0000000043060', 'Maestro'],
  ['A0000000050001', 'Maestro'],
  ['A000000025', 'Amex'],
  ['A000000065', 'JCB'],
  ['A000000333', 'UnionPay'],
  ['A000000152', 'Discover'],
  ['A000000324', 'Discover'],
  ['A000000042', 'CB'],
  ['A000000121', 'Dankort'],
  ['A000000141', 'Bancomat'],
  ['A000000228', 'mada'],
  ['A000000277', 'Interac'],
  ['A000000359', 'girocard'],
  ['A000000371', 'Verve'],
  ['A000000384', 'eftpos'],
  ['A000000524', 'RuPay'],
  ['A000000651', 'Elo'],
  ['A000000658', 'Mir'],
  ['A000000672', 'Troy'],
  ['A000000727', 'NAPAS'],
];

/** Every name of a scheme. */
export const SCHEMES: ReadonlySet<string> = new Set(AID_PREFIXES.map(([, scheme]) => scheme));

/**
 * First digits of a PAN, both ends included. Ranges that two schemes share are left out, because only an AID
 * distinguishes them.
 */
const BIN_RANGES: readonly (readonly [from: string, to: string, scheme: Scheme])[] = [
  ['4', '4', 'Visa'],
  ['51', '55', 'Mastercard'],
  ['2221', '2720', 'Mastercard'],
  ['50', '50', 'Maestro'],
  ['56', '58', 'Maestro'],
  ['6304', '6304', 'Maestro'],
  ['6759', '6759', 'Maestro'],
  ['6761', '6763', 'Maestro'],
  ['34', '34', 'Amex'],
  ['37', '37', 'Amex'],
  ['3528', '3589', 'JCB'],
  ['62', '62', 'UnionPay'],
  ['6011', '6011', 'Discover'],
  ['644', '649', 'Discover'],
  ['65', '65', 'Discover'],
  ['300', '305', 'Discover'],
  ['36', '36', 'Discover'],
  ['38', '39', 'Discover'],
  ['2200', '2204', 'Mir'],
];

/**
 * DF name of the selected application, then the ADF name, then the terminal's own: the actual selection has
 * priority.
 */
const AID_TAGS = [0x84, 0x4f, 0x9f06];

/** The AID of a tap in upper-case hex: 84, else 4F, else 9F06. */
export function aidOf(tap: TlvValues): string | undefined {
  for (const tag of AID_TAGS) {
    const aid = tap.hex(tag);
    if (aid !== undefined) return aid;
  }
  return undefined;
}

/**
 * The scheme of a tap: from the AID. If there is no AID at all, from the PAN, because one PAN can carry two schemes.
 * Undefined if the AID or the PAN is in no table.
 */
export function schemeOf(tap: TlvValues, pan: string): Scheme | undefined {
  const aid = aidOf(tap);
  return aid === undefined ? schemeOfPan(pan) : schemeOfAid(aid);
}

/** Matches the longest prefix of the AID (hex in either case, or bytes). */
export function schemeOfAid(aid: string | Uint8Array): Scheme | undefined {
  const text = typeof aid === 'string' ? aid.toUpperCase() : toHex(aid);
  return AID_PREFIXES_LONGEST_FIRST.find(([prefix]) => text.startsWith(prefix))?.[1];
}

const AID_PREFIXES_LONGEST_FIRST = AID_PREFIXES.toSorted(([a], [b]) => b.length - a.length);

/** Matches the first digits of a PAN. Digits of equal length have the same order as text and as numbers. */
export function schemeOfPan(pan: string): Scheme | undefined {
  return BIN_RANGES.find(([from, to]) => {
    const digits = pan.slice(0, from.length);
    return digits.length === from.length && digits >= from && digits <= to;
  })?.[2];
}

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
