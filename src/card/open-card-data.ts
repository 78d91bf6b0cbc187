import { MAX_GENERAL_CARD_DATA_CHARS, MAX_PAYMENT_CARD_DATA_CHARS } from '#schemas/card-data';
import { CardDataError, TlvError } from '../basics/errors.ts';
import { decodeBase64 } from '../codecs/bytes/base64.ts';
import { joinBlobs, openBlobs } from '../kits/reader-kit/open-blobs.ts';
import type { SealedBlobs } from '../kits/reader-kit/reader-format.ts';
import { CardDataRefusal, type CardDataRefusalReason } from '../kits/reader-kit/refusal.ts';
import type { CardDataOpener, OpenedTap, TappedReader, TapRequest } from '../payments/ports/card-ports.ts';
import { fingerprintBlobs, isFingerprintOf } from './fingerprint-blobs.ts';
import type { InstallationKeys } from './installation-keys.ts';
import type { KeyRing } from './key-ring.ts';
import type { ReaderInUse, ReadersInUse } from './readers-in-use.ts';

export interface CardDataOpenerOptions {
  readonly blobHmac: KeyRing['blobHmac'];
  readonly keys: Pick<InstallationKeys, 'of'>;
  readonly readers: ReadersInUse;
  /**
   * Also accepts `paymentCardData` that is Base64 of bare TLV. Only if the environment is `dev` and the config
   * allows it.
   */
  readonly allowBare?: boolean;
  /** Receives each refusal, for metrics and the log. */
  readonly onRefused?: (refused: RefusedCardData) => void;
}

/** Card data that were refused. Nothing in it is of the blobs. */
export interface RefusedCardData {
  /** The format of the reader. */
  readonly format: string;
  /** `copied`: the data open, but their tap or PIN block was used before. */
  readonly reason: CardDataRefusalReason | 'copied';
  readonly acquirerId: number;
  readonly merchantId: string;
  readonly correlationId: string | undefined;
}

/** Every compact JWE begins with the Base64url of `{"`. */
const JWE_BEGINNING = Buffer.from('eyJ');

/** Opens the blobs of a tap in the format of its reader. Every fault is the same CardDataError. */
export function createCardDataOpener(options: CardDataOpenerOptions): CardDataOpener {
  const { blobHmac, readers, onRefused } = options;
  const report = (
    { format: { format } }: ReaderInUse,
    reason: RefusedCardData['reason'],
    { correlationId }: TapRequest,
    { acquirerId, merchantId }: TappedReader,
  ) => onRefused?.({ format, reason, acquirerId, merchantId, correlationId });
  return {
    async open(request, tapped) {
      const reader = readers.readerOf(tapped);
      try {
        return await openBoth(options, reader, request, tapped);
      } catch (error) {
        if (error instanceof CardDataRefusal) report(reader, error.reason, request, tapped);
        else if (error instanceof TlvError) report(reader, 'tlv', request, tapped);
        else throw error;
        throw new CardDataError();
      }
    },
    reportCopy: (request, tapped) => report(readers.readerOf(tapped), 'copied', request, tapped),
    fingerprint: (request) => fingerprintBlobs(blobHmac, request),
    isFingerprintOf: (fingerprint, request) => isFingerprintOf(blobHmac, fingerprint, request),
  };
}

async function openBoth(
  { keys, allowBare = false }: CardDataOpenerOptions,
  { format, settings }: ReaderInUse,
  { generalCardData, paymentCardData, deviceInstallationId, merchantReference }: TapRequest,
  { acquirerId, merchantId }: TappedReader,
): Promise<OpenedTap> {
  const blobs: SealedBlobs = {
    general: decodeCapped(generalCardData, MAX_GENERAL_CARD_DATA_CHARS),
    payment: decodeCapped(paymentCardData, MAX_PAYMENT_CARD_DATA_CHARS),
  };
  const isBare = allowBare && format.format === 'jwe' && !JWE_BEGINNING.equals(blobs.payment.subarray(0, 3));
  if (isBare) return joinBlobs(blobs.general, blobs.payment, { needsDigest: false });
  const binding = { deviceInstallationId, merchantReference, merchant: { acquirerId, merchantId } };
  return openBlobs(format, blobs, { settings, keys: keys.of(acquirerId), binding });
}

function decodeCapped(text: string, maxChars: number): Buffer {
  if (text.length > maxChars) throw new CardDataRefusal('too-large');
  const bytes = decodeBase64(text);
  if (bytes === undefined || bytes.length === 0) throw new CardDataRefusal('not-base64');
  return bytes;
}
