import type { ProfileReader } from '#schemas/terminal-profile';
import type { TlvValues } from '../../codecs/emv/tlv-values.ts';
import type { OriginalData } from '../../kits/processor-kit/processor.ts';
import type { SingleUse } from './store-ports.ts';

/** The card data that stay sealed for as long as a reversal or refund may need them. */
export interface KeptCard {
  readonly pan: string;
  /** YYMM. */
  readonly expiry: string;
  readonly original: OriginalData;
}

/** What only one tap of a card has, as its chip has authenticated it. */
export interface ChipUse {
  readonly pan: string;
  /** 9A. */
  readonly date: Uint8Array | undefined;
  /** 9F36. */
  readonly counter: Uint8Array | undefined;
  /** 9F26. */
  readonly cryptogram: Uint8Array | undefined;
}

export interface CardVault {
  seal(transactionId: string, card: KeptCard): Uint8Array;
  /** @throws SealError if the key no longer exists or the bytes were changed */
  open(transactionId: string, sealed: Uint8Array): KeptCard;
  /** YYMM, from a recent seal or by opening it. @throws SealError */
  expiryOf(transactionId: string, sealed: Uint8Array): string;
  /** Keyed hash for search, with the id of its key. */
  hashPan(pan: string): string;
  /** Whether the hash belongs to this PAN, under any of the keys. */
  isHashOf(hash: string, pan: string): boolean;
  /** The keyed hashes by which a copy of a tap is found, under every key: that of the original may have been replaced. */
  usesOf(chip: ChipUse): readonly SingleUse[];
}

/** A tap as the phone submitted it. */
export interface TapRequest {
  readonly merchantReference: string;
  /** Base64 of BER-TLV. */
  readonly generalCardData: string;
  /** Base64 of a compact JWE. */
  readonly paymentCardData: string;
  readonly deviceInstallationId: string;
  /** Correlation id of the HTTP request, a UUID. */
  readonly correlationId?: string;
}

/** Both blobs of a tap, opened and indexed, and their bytes for a handover. */
export interface OpenedTap {
  readonly general: TlvValues;
  readonly payment: TlvValues;
  readonly bytes: { readonly general: Uint8Array; readonly payment: Uint8Array };
}

/** The reader of a tap, as its terminal profile describes it, and the merchant that the token of the tap names. */
export interface TappedReader {
  readonly acquirerId: number;
  readonly merchantId: string;
  /** Undefined for a reader of the default format. */
  readonly reader: ProfileReader | undefined;
}

/** Opens the blobs that readers seal. */
export interface CardDataOpener {
  /**
   * Asynchronous, because a key may be in a device. An implementation that waits for one limits the wait.
   *
   * @throws CardDataError, the same for every cause; NoConfiguration (NO_READER); HsmUnavailable
   */
  open(request: TapRequest, tapped: TappedReader): Promise<OpenedTap>;
  /** Reports a tap that is refused because its chip data or its PIN block were used before. */
  reportCopy(request: TapRequest, tapped: TappedReader): void;
  fingerprint(request: TapRequest | PinRequest): string;
  isFingerprintOf(fingerprint: string, request: TapRequest | PinRequest): boolean;
}

/** Passes taps from an `api` process to a `worker`, sealed to keys that exist only in the memory of the workers. */
export interface Handover {
  /** @throws SealError NO_WORKER if no worker could open it */
  seal(
    attempt: { readonly id: string; readonly attempt: number },
    tap: { general: Uint8Array; payment: Uint8Array },
  ): Promise<Uint8Array>;
}

/** The PIN of a tap as the phone submitted it: both blobs again, and the block unless it is in the sealed blob. */
export interface PinRequest extends TapRequest {
  readonly pinToken: string;
  /** Hex. */
  readonly pinBlock?: string | undefined;
  readonly ksn?: string | undefined;
}
