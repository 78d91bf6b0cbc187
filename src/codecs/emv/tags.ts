/** The meaning of each tag, and whether its value may be shown. Kernels can give one tag different meanings. */
import facts from './emv-tags.json' with { type: 'json' };
import type { Scheme } from './scheme.ts';

/** Schemes whose kernels give some tags a meaning of their own. */
export type Kernel = 'visa' | 'mastercard' | 'amex' | 'jcb' | 'unionpay';

/**
 * EMV Book 3 Annex A: n has two digits per byte, cn the same with F padding, text (a, an, ans), bytes, lists of
 * tags.
 */
export type TagFormat = 'n' | 'cn' | 'a' | 'an' | 'ans' | 'b' | 'var' | 'dol' | 'taglist';

/** PCI DSS: sensitive authentication data, PAN, other cardholder data. */
type TagSecrecy = 'SAD' | 'PAN' | 'CHD';

export interface TagFacts {
  readonly tag: number;
  readonly name: string;
  readonly format: TagFormat;
  /** Number of bytes of the value, if the books define it. */
  readonly min: number | undefined;
  readonly max: number | undefined;
  /** Who defines the tag: EMVCo, a scheme, the gateway's readers, or a private use that binds no one else. */
  readonly scheme: 'emv' | Kernel | 'reader' | 'proprietary';
  readonly secrecy: TagSecrecy | undefined;
}

/** The private tags in which the gateway's readers pass data for which EMV has no tag. */
const READER_TAGS: readonly TagFacts[] = [
  readerTag(0xdf8a01, 'Reader Id', 'ans'),
  readerTag(0xdf8a02, 'Reader Transaction Id', 'ans'),
  readerTag(0xdf8a03, 'Latitude', 'ans'),
  readerTag(0xdf8a04, 'Longitude', 'ans'),
  readerTag(0xdf8a11, 'PIN Block', 'b', 'SAD'),
  readerTag(0xdf8a12, 'Key Serial Number (KSN)', 'b'),
  readerTag(0xdf8a21, 'SHA-256 of the General Card Data', 'b'),
];

/**
 * Tags that no book marks as card data although they reveal it: issuer scripts (PIN change), IBAN, certificates of
 * the card (a public key recovers the PAN), DS ID (PAN and sequence number), CVC3, and data envelopes (any content).
 */
const WITHHELD: ReadonlySet<number> = new Set([
  0x86, 0x5f53, 0x9f2d, 0x9f46, 0x9f5e, 0x9f60, 0x9f61, 0x9f70, 0x9f71, 0x9f72, 0x9f73, 0x9f74, 0x9f75, 0x9f76, 0x9f77,
  0x9f78, 0x9f79,
]);

const MEANINGS: ReadonlyMap<number, readonly TagFacts[]> = Map.groupBy(
  [...bookTags(), ...READER_TAGS],
  ({ tag }) => tag,
);

/** Every meaning of a tag, from all sources. */
export function tagMeanings(tag: number): readonly TagFacts[] {
  return MEANINGS.get(tag) ?? [];
}

/**
 * The meaning of a tag for a kernel: its own, else that of EMV or the gateway's readers, else the private use of
 * cards. Without a kernel, a tag that schemes use differently is undefined.
 */
export function tagFacts(tag: number, kernel?: Kernel): TagFacts | undefined {
  const meanings = tagMeanings(tag);
  const find = (scheme: TagFacts['scheme']) => meanings.find((meaning) => meaning.scheme === scheme);
  const shared = find('emv') ?? find('reader');
  if (kernel !== undefined) return find(kernel) ?? shared ?? find('proprietary');
  return shared ?? (meanings.length === 1 ? meanings[0] : undefined);
}

/**
 * True if a value of this tag may be shown: the tag is known, no scheme uses it for PAN, cardholder or
 * authentication data, and the value is no longer than the tag allows. False otherwise.
 */
export function mayShow(tag: number, lengthBytes: number, kernel?: Kernel): boolean {
  const meaning = tagFacts(tag, kernel);
  if (meaning === undefined || meaning.scheme === 'proprietary' || WITHHELD.has(tag)) return false;
  if (tagMeanings(tag).some(({ secrecy }) => secrecy !== undefined)) return false;
  return meaning.max === undefined || lengthBytes <= meaning.max;
}

/** The name of a tag for people; the alternatives if no kernel decides between them. */
export function tagName(tag: number, kernel?: Kernel): string | undefined {
  const meaning = tagFacts(tag, kernel);
  if (meaning !== undefined) return meaning.name;
  const names = tagMeanings(tag).map(({ name, scheme }) => `${name} (${scheme})`);
  return names.length === 0 ? undefined : names.join(' or ');
}

/** The kernel of a scheme's cards; undefined for schemes that add no meaning of their own. */
export function kernelOf(scheme: Scheme | undefined): Kernel | undefined {
  switch (scheme) {
    case 'Visa':
      return 'visa';
    case 'Mastercard':
    case 'Maestro':
      return 'mastercard';
    case 'Amex':
      return 'amex';
    case 'JCB':
      return 'jcb';
    case 'UnionPay':
      return 'unionpay';
    default:
      return undefined;
  }
}

function bookTags(): TagFacts[] {
  return facts.tags.map(({ tag, name, format, min, max, scheme, pci }) => ({
    tag: Number.parseInt(tag, 16),
    name,
    format: format as TagFormat,
    min,
    max,
    scheme: scheme as TagFacts['scheme'],
    secrecy: pci as TagSecrecy | undefined,
  }));
}

function readerTag(tag: number, name: string, format: TagFormat, secrecy?: TagSecrecy): TagFacts {
  return { tag, name, format, min: undefined, max: undefined, scheme: 'reader', secrecy };
}
