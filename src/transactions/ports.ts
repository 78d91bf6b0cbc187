import type { TlvValues } from '../emv/tlv-values.ts';
import type { OriginalData } from '../processor-kit/processor.ts';
import type { PinRequest } from './ports/pin-ports.ts';
import type { TransactionKey } from './transaction.ts';

export * from './ports/directory-ports.ts';
export * from './ports/reversal-ports.ts';
export * from './ports/store-ports.ts';
export * from './ports/switch-ports.ts';

/** What the domain asks of the world. Adapters implement these; the domain knows no pg, no sockets, no fastify. */

export interface Clock {
  /** Milliseconds since 1970, as the database counts them: for records, and for tokens that other processes judge. */
  nowMs(): number;
  /** Milliseconds on a clock that only goes forward: for deadlines. */
  monotonicMs(): number;
}

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

/** As whom a tap is submitted. */
export interface Principal {
  readonly acquirerId: number;
  readonly merchantId: string;
  readonly userClaim: string | null;
  readonly xTid: string | null;
  /** The terminal profile that the token chose (`spCfg`). */
  readonly profileName: string | null;
  /** The link or intent whose own token it is: it opens nothing else. */
  readonly consumerId?: string | undefined;
}

/**
 * Why a person must resolve a transaction with the acquirer. `UNACKNOWLEDGED`: the time for its reversal or completion is over.
 * `UNSENDABLE`: its reversal cannot be built. `APPROVED_AFTER_DECLINE`: the switch may have booked what was told as Declined.
 * `CONTRADICTORY`: the switch's answers to its reversal contradict each other.
 */
export type ReviewReason = 'UNACKNOWLEDGED' | 'UNSENDABLE' | 'APPROVED_AFTER_DECLINE' | 'CONTRADICTORY';

/** Calls a person. */
export interface Alarms {
  /** @param fault the error code or name where the reversal cannot be built */
  needsReview(key: TransactionKey, reason: ReviewReason, fault?: string): void;
}

/** Tells who waits that a transaction moved, in this process or from another one. */
export interface Wakeups {
  /** Resolves when the transaction may have moved, or at the latest after `timeoutMs`. */
  moved(key: TransactionKey, timeoutMs: number): Promise<void>;
  announce(key: TransactionKey): void;
  /** Taps were handed over: workers should look. */
  announceWork(): void;
}
