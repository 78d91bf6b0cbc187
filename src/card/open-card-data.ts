import { hash } from 'node:crypto';
import { MAX_GENERAL_CARD_DATA_CHARS, MAX_PAYMENT_CARD_DATA_CHARS, READER_TAGS } from '#schemas/card-data';
import { decodeBase64 } from '../bytes/base64.ts';
import { indexTlv, type TlvIndex } from '../emv/tlv.ts';
import { CardDataError, TlvError } from '../errors.ts';
import type { KeyRing } from './key-ring.ts';
import { type JweBinding, JweOpener } from './open-jwe.ts';
import { CardDataRefusal, type CardDataRefusalReason } from './refusal.ts';

/** The two blobs as submitted, and what they must be bound to. */
export interface SealedCardData extends JweBinding {
  readonly generalCardData: string;
  readonly paymentCardData: string;
}

export interface OpenedCardData {
  readonly general: TlvIndex;
  readonly payment: TlvIndex;
}

/** What opens a reader's blobs. Readers differ by vendor; ours is one implementation and needs no device, so it is synchronous. */
export interface CardDataOpener {
  /** @throws {CardDataError} for whatever is wrong with the blobs, the same for every cause */
  open(sealed: SealedCardData): OpenedCardData | Promise<OpenedCardData>;
}

export interface CardDataOpenerOptions {
  readonly keys: Pick<KeyRing, 'cardDataKey'>;
  /** Also takes `paymentCardData` that is Base64 of bare TLV. Only where the environment is `dev` and the config says so. */
  readonly allowBare?: boolean;
  /** Told why a blob was refused, for metrics. */
  readonly onRefused?: (reason: CardDataRefusalReason) => void;
  /** Milliseconds since 1970, for `retireAt`. */
  readonly now?: () => number;
}

/** Every compact JWE begins with the Base64url of `{"`. */
const JWE_BEGINNING = 'eyJ';

/** Opens blobs of the reference format (`seal-card-data.ts` makes them). */
export function createCardDataOpener(options: CardDataOpenerOptions): {
  open(sealed: SealedCardData): OpenedCardData;
} {
  const jwe = new JweOpener(options.keys, options.now ?? Date.now);
  const allowBare = options.allowBare ?? false;
  return {
    open(sealed) {
      try {
        return openBoth(jwe, sealed, allowBare);
      } catch (error) {
        if (error instanceof CardDataRefusal) options.onRefused?.(error.reason);
        else if (error instanceof TlvError) options.onRefused?.('tlv');
        else throw error;
        throw new CardDataError();
      }
    },
  };
}

function openBoth(jwe: JweOpener, sealed: SealedCardData, allowBare: boolean): OpenedCardData {
  const generalBytes = decodeCapped(sealed.generalCardData, MAX_GENERAL_CARD_DATA_CHARS);
  const paymentBytes = decodeCapped(sealed.paymentCardData, MAX_PAYMENT_CARD_DATA_CHARS);
  const general = indexTlv(generalBytes);
  const compact = paymentBytes.toString('latin1');
  const isBare = allowBare && !compact.startsWith(JWE_BEGINNING);
  const payment = indexTlv(isBare ? paymentBytes : jwe.open(compact, sealed));

  const digest = payment.single(READER_TAGS.generalDigest);
  // Bare TLV is typed by hand in dev, where a missing digest proves as little as a present one.
  const vouches = digest === undefined ? isBare : hash('sha256', generalBytes, 'buffer').equals(digest);
  if (!vouches) throw new CardDataRefusal('digest');
  if (!agrees(general, payment) || !agrees(payment, general)) throw new CardDataRefusal('tags-differ');
  return { general, payment };
}

function decodeCapped(text: string, maxChars: number): Buffer {
  if (text.length > maxChars) throw new CardDataRefusal('too-large');
  const bytes = decodeBase64(text);
  if (bytes === undefined || bytes.length === 0) throw new CardDataRefusal('not-base64');
  return bytes;
}

/** Whether every value of `left` that `right` also has is the same there. Templates are compared by what is in them. */
function agrees(left: TlvIndex, right: TlvIndex): boolean {
  for (const { tag, hasChildren, value } of left) {
    const other = hasChildren ? undefined : right.value(tag);
    if (other !== undefined && Buffer.compare(value, other) !== 0) return false;
  }
  return true;
}
