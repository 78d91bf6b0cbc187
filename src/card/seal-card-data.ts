/**
 * The reader's end of card data for the gateway's own CLI, demo and load. schemas/seal-card-data.ts is the reference
 * for kernel teams.
 */
import { hash } from 'node:crypto';
import { type CardDataPublicKey, GENERAL_TAGS, READER_TAGS } from '#schemas/card-data';
import { openJweSession, sealJwe } from '../../readers/jwe/seal-jwe.ts';
import { encodeTlv } from '../codecs/emv/tlv.ts';
import type { TapBinding } from '../kits/reader-kit/reader-format.ts';
import type { TapRequest } from '../payments/ports/switch-ports.ts';

/** The values that a kernel read, by tag: EMV data objects and READER_TAGS. */
type TapValues = ReadonlyMap<number, Uint8Array>;

export interface CardDataSealer {
  /** Both blobs of one tap (or of its PIN step), bound to a device, a reference and, if the binding has one, a merchant. */
  seal(values: TapValues, binding: TapBinding): TapRequest;
}

/** Seals the values that are not public, as a reader of one format does. */
export interface PaymentSealer {
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
