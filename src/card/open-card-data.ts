import { hash } from 'node:crypto';
import { MAX_GENERAL_CARD_DATA_CHARS, MAX_PAYMENT_CARD_DATA_CHARS, READER_TAGS } from '#schemas/card-data';
import { decodeBase64 } from '../bytes/base64.ts';
import { indexTlv, type TlvIndex } from '../emv/tlv.ts';
import { CardDataError, TlvError } from '../errors.ts';
import type { CardDataOpener, OpenedTap, TapRequest } from '../transactions/ports/card-ports.ts';
import { fingerprintBlobs, isFingerprintOf } from './fingerprint-blobs.ts';
import type { KeyRing } from './key-ring.ts';
import { JweOpener } from './open-jwe.ts';
import { CardDataRefusal, type CardDataRefusalReason } from './refusal.ts';

export interface CardDataOpenerOptions {
  readonly keys: Pick<KeyRing, 'cardDataKey' | 'blobHmac'>;
  /**
   * Also accepts `paymentCardData` that is Base64 of bare TLV. Only if the environment is `dev` and the config
   * allows it.
   */
  readonly allowBare?: boolean;
  /** Receives the reason for each refusal, for metrics and for kernel developers in dev. */
  readonly onRefused?: (reason: CardDataRefusalReason) => void;
  /** Milliseconds since 1970, for `retireAt`. */
  readonly nowMs?: () => number;
}

/** Every compact JWE begins with the Base64url of `{"`. */
const JWE_BEGINNING = 'eyJ';

/** Opens blobs of the reference format (`seal-card-data.ts` produces them). Every fault is the same CardDataError. */
export function createCardDataOpener(options: CardDataOpenerOptions): CardDataOpener {
  const { keys, allowBare = false, onRefused, nowMs = Date.now } = options;
  const jwe = new JweOpener(keys, nowMs);
  return {
    async open(request) {
      try {
        return openBoth(jwe, request, allowBare);
      } catch (error) {
        if (error instanceof CardDataRefusal) onRefused?.(error.reason);
        else if (error instanceof TlvError) onRefused?.('tlv');
        else throw error;
        throw new CardDataError();
      }
    },
    fingerprint: (request) => fingerprintBlobs(keys.blobHmac, request),
    isFingerprintOf: (fingerprint, request) => isFingerprintOf(keys.blobHmac, fingerprint, request),
  };
}

function openBoth(jwe: JweOpener, request: TapRequest, allowBare: boolean): OpenedTap {
  const generalBytes = decodeCapped(request.generalCardData, MAX_GENERAL_CARD_DATA_CHARS);
  const paymentBytes = decodeCapped(request.paymentCardData, MAX_PAYMENT_CARD_DATA_CHARS);
  const general = indexTlv(generalBytes);
  const compact = paymentBytes.toString('latin1');
  const isBare = allowBare && !compact.startsWith(JWE_BEGINNING);
  const opened = isBare ? paymentBytes : jwe.open(compact, request);
  const payment = indexTlv(opened);

  const digest = payment.single(READER_TAGS.generalDigest);
  // Bare TLV is typed by hand in dev, where a digest proves nothing.
  const vouches = digest === undefined ? isBare : hash('sha256', generalBytes, 'buffer').equals(digest);
  if (!vouches) throw new CardDataRefusal('digest');
  if (!agrees(general, generalBytes, payment) || !agrees(payment, opened, general))
    throw new CardDataRefusal('tags-differ');
  return { general, payment, bytes: { general: generalBytes, payment: opened } };
}

function decodeCapped(text: string, maxChars: number): Buffer {
  if (text.length > maxChars) throw new CardDataRefusal('too-large');
  const bytes = decodeBase64(text);
  if (bytes === undefined || bytes.length === 0) throw new CardDataRefusal('not-base64');
  return bytes;
}

/**
 * Whether every value of `left`, in its bytes, that `right` also has is the same there. Templates are compared object by object.
 */
function agrees(left: TlvIndex, bytes: Uint8Array, right: TlvIndex): boolean {
  let agree = true;
  left.visit((tag, start, end, hasChildren) => {
    const other = hasChildren ? undefined : right.value(tag);
    if (other !== undefined && Buffer.compare(bytes.subarray(start, end), other) !== 0) agree = false;
  });
  return agree;
}
