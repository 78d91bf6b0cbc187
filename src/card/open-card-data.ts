import { createHmac } from 'node:crypto';
import { MAX_GENERAL_CARD_DATA_CHARS, MAX_PAYMENT_CARD_DATA_CHARS } from '#schemas/card-data';
import type { ProfileReader } from '#schemas/terminal-profile';
import { CardDataError, NoConfiguration, TlvError } from '../basics/errors.ts';
import { decodeBase64 } from '../codecs/bytes/hex.ts';
import { isSameMac } from '../codecs/crypto/mac.ts';
import { joinBlobs, openBlobs } from '../kits/reader-kit/open-blobs.ts';
import {
  CardDataRefusal,
  type CardDataRefusalReason,
  type ReaderFormat,
  type SealedBlobs,
} from '../kits/reader-kit/reader-format.ts';
import type {
  CardDataOpener,
  OpenedTap,
  PinRequest,
  TappedReader,
  TapRequest,
} from '../payments/ports/switch-ports.ts';
import { type ReaderRules, readerFaults } from '../payments/settings/check-settings.ts';
import type { InstallationKeys } from './installation-keys.ts';
import type { KeyRing, NamedSecretKey, SecretKeys } from './key-ring.ts';

type Blobs = Pick<TapRequest, 'generalCardData' | 'paymentCardData'> & Partial<Pick<PinRequest, 'pinBlock' | 'ksn'>>;

/**
 * The fingerprint of the blobs of a tap or PIN, which recognizes a repeat of the same request: `<key
 * id>:<HMAC-SHA-256, Base64url>`. Each blob has only one spelling (canonical Base64), so the texts are compared.
 */
function fingerprintBlobs(keys: SecretKeys, blobs: Blobs): string {
  return fingerprintWith(keys.current, blobs);
}

/** Whether `fingerprint` was made from these blobs, under any key of the ring; false if its key no longer exists. */
function isFingerprintOf(keys: SecretKeys, fingerprint: string, blobs: Blobs): boolean {
  const key = keys.find(fingerprint.split(':', 1)[0]!);
  if (key === undefined) return false;
  return isSameMac(Buffer.from(fingerprintWith(key, blobs)), Buffer.from(fingerprint));
}

/** The dot occurs in neither Base64 nor hex, so it separates the parts. */
function fingerprintWith(
  { id, key }: NamedSecretKey,
  { generalCardData, paymentCardData, pinBlock, ksn = '' }: Blobs,
): string {
  const hmac = createHmac('sha256', key).update(generalCardData).update('.').update(paymentCardData);
  if (pinBlock !== undefined) hmac.update(`.${pinBlock}.${ksn}`);
  return `${id}:${hmac.digest('base64url')}`;
}

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

/** A format with valid settings, whose keys belong to the acquirer. */
export interface ReaderInUse {
  readonly format: ReaderFormat;
  readonly settings: unknown;
}

/** The format of profiles that name none. */
const DEFAULT_FORMAT = 'jwe';

/** The reader formats that terminal profiles name. */
export class ReadersInUse {
  readonly #rules: ReaderRules;
  readonly #default: ReaderInUse;
  /** By the profile's own object, which is replaced when the profile changes. */
  readonly #checked = new WeakMap<ProfileReader, ReaderInUse>();

  constructor(rules: ReaderRules) {
    this.#rules = rules;
    this.#default = { format: rules.formats.get(DEFAULT_FORMAT)!, settings: {} };
  }

  /**
   * A profile is checked when it is stored and again here, because a format may be gone since, or a grant withdrawn.
   *
   * @throws NoConfiguration (NO_READER)
   */
  readerOf({ acquirerId, reader }: Pick<TappedReader, 'acquirerId' | 'reader'>): ReaderInUse {
    if (reader === undefined) return this.#default;
    const known = this.#checked.get(reader);
    if (known !== undefined) return known;
    if (readerFaults(this.#rules, acquirerId, reader).length > 0) throw new NoConfiguration('NO_READER');
    const format = this.#rules.formats.get(reader.format)!;
    const checked = { format, settings: format.settingsSchema.parse(reader.settings) };
    this.#checked.set(reader, checked);
    return checked;
  }
}
