import type { TlvValues } from '../../emv/tlv-values.ts';
import type { OriginalData } from '../../processor-kit/processor.ts';

/** What is sealed of a card for as long as a reversal or refund may need it. */
export interface KeptCard {
  readonly pan: string;
  /** YYMM. */
  readonly expiry: string;
  readonly original: OriginalData;
}

export interface CardVault {
  seal(transactionId: string, card: KeptCard): Uint8Array;
  /** @throws SealError when the key is gone or the bytes were changed */
  open(transactionId: string, sealed: Uint8Array): KeptCard;
  /** YYMM, from a seal of a moment ago or by opening it. @throws SealError */
  expiryOf(transactionId: string, sealed: Uint8Array): string;
  /** Keyed hash for search, with its key's id. */
  hashPan(pan: string): string;
  /** Whether it is the hash of this PAN, under whichever key. */
  isHashOf(hash: string, pan: string): boolean;
}

/** A tap as the phone submitted it. */
export interface TapRequest {
  readonly merchantReference: string;
  /** Base64 of BER-TLV. */
  readonly generalCardData: string;
  /** Base64 of a compact JWE. */
  readonly paymentCardData: string;
  readonly deviceInstallationId: string;
  /** Of the HTTP request, a UUID. */
  readonly correlationId?: string;
}

/** Both blobs of a tap, opened and indexed; the bytes themselves for a handover. */
export interface OpenedTap {
  readonly general: TlvValues;
  readonly payment: TlvValues;
  readonly bytes: { readonly general: Uint8Array; readonly payment: Uint8Array };
}

/** Opens what readers seal. */
export interface CardDataOpener {
  /** @throws CardDataError, one and the same for every cause */
  open(request: TapRequest): OpenedTap;
  fingerprint(request: TapRequest | PinRequest): string;
  isFingerprintOf(fingerprint: string, request: TapRequest | PinRequest): boolean;
}

/** From an `api` process to a `worker`: sealed to keys that live in the workers' memory alone. */
export interface Handover {
  /** @throws SealError NO_WORKER when nobody could open it */
  seal(
    attempt: { readonly id: string; readonly attempt: number },
    tap: { general: Uint8Array; payment: Uint8Array },
  ): Promise<Uint8Array>;
}

/** The PIN of a tap, as the phone submitted it: both blobs again, and the block unless it lies in the sealed one. */
export interface PinRequest extends TapRequest {
  readonly pinToken: string;
  /** Hex. */
  readonly pinBlock?: string | undefined;
  readonly ksn?: string | undefined;
}
