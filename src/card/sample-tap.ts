import { hash, randomBytes } from 'node:crypto';
import { type CardDataPublicKey, GENERAL_TAGS, READER_TAGS } from '#schemas/card-data';
import { openJweSession, sealJwe } from '../../readers/jwe/jwe.ts';
import { fromHex } from '../codecs/bytes/hex.ts';
import { encodeTlv } from '../codecs/emv/tlv.ts';
import { localDateTime } from '../kits/processor-kit/field-values.ts';
import type { TapBinding } from '../kits/reader-kit/reader-format.ts';
import type { TapRequest } from '../payments/ports/switch-ports.ts';

/**
 * Taps of published test cards as a kernel would have read them, for the CLI, the demo, load and tests. Cryptograms
 * are random.
 */

interface SampleCard {
  readonly pan: string;
  readonly aid: string;
  readonly label: string;
  /**
   * The values that differ between schemes: interchange profile, issuer application data, transaction qualifiers,
   * form factor.
   */
  readonly chip: Readonly<Record<number, string>>;
}

const MCHIP = { 130: '1980', 40720: '0110A04003220000000000000000000000FF' };

/** Keyed by the name for `tapwire tap --card`. */
export const SAMPLE_CARDS = {
  visa: {
    pan: '4111111111111111',
    aid: 'A0000000031010',
    label: 'Visa Credit',
    chip: { 130: '2000', 40720: '06011203A00000', 40806: '36004000', 40812: '3E00', 40814: '20700000' },
  },
  mastercard: {
    pan: '5413330089010640',
    aid: 'A0000000041010',
    label: 'Mastercard',
    chip: { ...MCHIP, 40814: '0710000030303030' },
  },
  maestro: { pan: '6759649826438453', aid: 'A0000000043060', label: 'Maestro', chip: MCHIP },
  amex: {
    pan: '374245455400126',
    aid: 'A00000002501',
    label: 'American Express',
    chip: { 130: '1980', 40720: '06020103A02000', 40814: '18F04000' },
  },
} as const satisfies Record<string, SampleCard>;

export type SampleCardName = keyof typeof SAMPLE_CARDS;

export interface SampleTap {
  readonly card?: SampleCardName;
  /** Of another card of the same scheme. */
  readonly pan?: string | undefined;
  /** Integer, at most 12 digits. */
  readonly amountMinor: number;
  /** ISO 4217 and ISO 3166 digits, `710`. */
  readonly currencyNumeric: string;
  readonly at: Date;
  /** IANA name of the zone that the reader's clock shows; UTC if absent. */
  readonly timeZone?: string;
  /** The values of the PIN step; 9F34 then states that an online PIN was entered. */
  readonly pin?: { readonly block: Uint8Array; readonly ksn: Uint8Array };
}

/** The expiry date of every sample card, in the order of track 2. */
const EXPIRY_YYMM = '3112';
const ONLINE_PIN = '420300';
const NO_CVM = '1F0302';

/** Transaction counter, unpredictable number, cryptogram and the reader's transaction id. */
const RANDOM_BYTES = 2 + 4 + 8 + 8;

/** The values of one tap, ready for a `CardDataSealer`. Tests change the map to make a card misbehave. */
export function sampleTap(tap: SampleTap): Map<number, Uint8Array> {
  const card: SampleCard = SAMPLE_CARDS[tap.card ?? 'visa'];
  const stamp = localDateTime(tap.at.getTime(), tap.timeZone ?? 'UTC');
  // One draw for all values: a draw has a high fixed cost, and load tests create thousands of taps a second.
  const random = randomBytes(RANDOM_BYTES).toString('hex');
  const hexValues: Record<number, string> = {
    40706: String(tap.amountMinor).padStart(12, '0'),
    24362: tap.currencyNumeric.padStart(4, '0'),
    156: '00',
    132: card.aid,
    80: asciiHex(card.label),
    149: '0000000000',
    154: stamp.slice(2, 8),
    40737: stamp.slice(8, 14),
    40743: '80',
    40730: tap.currencyNumeric.padStart(4, '0'),
    40758: random.slice(0, 4),
    40759: random.slice(4, 12),
    87: track2(tap.pan ?? card.pan),
    24372: '01',
    40742: random.slice(12, 28),
    40755: 'E0F8C8',
    40756: tap.pin ? ONLINE_PIN : NO_CVM,
    ...card.chip,
    [READER_TAGS.readerId]: asciiHex('sample-reader'),
    [READER_TAGS.readerTransactionId]: asciiHex(random.slice(28)),
  };
  const values = new Map(Object.entries(hexValues).map(([tag, hex]) => [Number(tag), fromHex(hex)]));
  if (tap.pin) values.set(READER_TAGS.pinBlock, tap.pin.block).set(READER_TAGS.ksn, tap.pin.ksn);
  return values;
}

/** Track 2 equivalent data: PAN, `D`, expiry, service code 201 (chip, online), discretionary zeros, `F` to a whole byte. */
function track2(pan: string): string {
  const digits = `${pan}D${EXPIRY_YYMM}2010000000000`;
  return digits.length % 2 === 0 ? digits : `${digits}F`;
}

function asciiHex(text: string): string {
  return Buffer.from(text, 'latin1').toString('hex');
}

/**
 * The reader's end of card data for the gateway's own CLI, demo and load. schemas/seal-card-data.ts is the reference
 * for kernel teams.
 */

/** The values that a kernel read, by tag: EMV data objects and READER_TAGS. */
type TapValues = ReadonlyMap<number, Uint8Array>;

export interface CardDataSealer {
  /** Both blobs of one tap (or of its PIN step), bound to a device, a reference and, if the binding has one, a merchant. */
  seal(values: TapValues, binding: TapBinding): TapRequest;
}

/** Seals the values that are not public, as a reader of one format does. */
interface PaymentSealer {
  /** `paymentCardData` without its Base64. */
  seal(payment: Uint8Array, binding: TapBinding): Uint8Array;
}

/**
 * Seals taps: for one of the installation's public keys, or with a reader of another format.
 *
 * @param options.keepEphemeral one ephemeral key for all taps of this sealer, as a reader does within one proximity
 * session; otherwise each tap has its own
 * @throws node's error if the recipient is not a point of its curve
 */
export function createCardDataSealer(
  sealedBy: CardDataPublicKey | PaymentSealer,
  options: { readonly keepEphemeral?: boolean } = {},
): CardDataSealer {
  const reader = 'seal' in sealedBy ? sealedBy : jweReader(sealedBy, options);
  return {
    seal(values, binding) {
      const general = encodeTlv(pick(values, (tag) => GENERAL_TAGS.has(tag)));
      const digest = { tag: READER_TAGS.generalDigest, value: hash('sha256', general, 'buffer') };
      const payment = encodeTlv([...pick(values, (tag) => !GENERAL_TAGS.has(tag)), digest]);
      const { deviceInstallationId, merchantReference } = binding;
      return {
        ...{ deviceInstallationId, merchantReference },
        generalCardData: Buffer.from(general).toString('base64'),
        paymentCardData: Buffer.from(reader.seal(payment, binding)).toString('base64'),
      };
    },
  };
}

function jweReader(
  recipient: CardDataPublicKey,
  { keepEphemeral }: { readonly keepEphemeral?: boolean },
): PaymentSealer {
  const kept = keepEphemeral ? openJweSession(recipient) : undefined;
  return {
    seal: (payment, binding) => Buffer.from(sealJwe(payment, kept ?? openJweSession(recipient), binding)),
  };
}

function pick(values: TapValues, isWanted: (tag: number) => boolean): { tag: number; value: Uint8Array }[] {
  return [...values].filter(([tag]) => isWanted(tag)).map(([tag, value]) => ({ tag, value }));
}
