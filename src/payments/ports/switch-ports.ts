import type { ProfileReader } from '#schemas/terminal-profile';
import type { TlvValues } from '../../codecs/emv/tlv-values.ts';
import type {
  Completion,
  OriginalData,
  Outcome,
  PinData,
  Purchase,
  Refund,
  Reversal,
  ReversalResponse,
  Terminal,
} from '../../kits/processor-kit/processor.ts';
import type { ProcessorProfile } from '../../kits/processor-kit/profile.ts';
import type { SwitchRevision } from '../model/switch-revision.ts';
import type { ProviderValues, Transaction, TransactionKey } from '../model/transaction.ts';
import type { SingleUse } from './store-ports.ts';

/**
 * The result of a request to a switch, and the connection that carried it. `written`: whether a byte may have been
 * sent.
 */
export type SwitchResponse<Value> = { readonly connectionId: string } & (
  | { readonly kind: 'responded'; readonly value: Value }
  | { readonly kind: 'garbled' }
  | { readonly kind: 'failed'; readonly written: boolean; readonly reason: string }
);

/** The switch response to a purchase, with its values for integrators. */
export interface PurchaseResponse {
  readonly outcome: Outcome;
  /** DE15, MMDD; undefined if the response has none, or its MAC is wrong. */
  readonly settlementDate?: string | undefined;
  readonly providerFields: ProviderValues;
}

/** A slot on a signed-on connection, held before anything is committed as submitted. */
export interface SwitchSlot {
  authorize(
    request: PreparedRequest,
    timing: SendTiming,
    about: AttemptName,
  ): Promise<SwitchResponse<PurchaseResponse>>;
  reverse(reversal: Reversal, timing: SendTiming, about: AttemptName): Promise<SwitchResponse<ReversalResponse>>;
  /** Whether the switch accepted the completion: then the approval is posted. */
  complete(completion: Completion, timing: SendTiming, about: AttemptName): Promise<SwitchResponse<boolean>>;
  release(): void;
}

/** The attempt that a message belongs to, for later inspection of messages. */
export interface AttemptName extends TransactionKey {
  readonly attempt: number;
}

/** On the monotonic clock. A response counts until the first time, and nothing is written after the second. */
export interface SendTiming {
  readonly deadlineAtMs: number;
  readonly sendByAtMs: number;
}

/** A STAN that this process alone may use, once. */
export interface TakenStan {
  readonly stan: string;
  /**
   * The time of the RRN for a request that is sent now. It is another one only near the end of a period whose numbers are all
   * different, if the clocks of the process and of the database disagree: hour and STAN together are never used twice.
   */
  rrnAtMs(sentAtMs: number): number;
  /**
   * Lets the next message have it. Only if nothing was sent with it, and no row has it or may get it: never after a COMMIT
   * whose fate is unknown.
   */
  putBack(): void;
}

/** A processor of an acquirer with its connections. */
export interface Switch {
  readonly type: string;
  readonly profile: ProcessorProfile;
  /** Undefined if the switch has never changed. */
  readonly revision?: SwitchRevision | undefined;
  /** Whether PINs can be enciphered for the switch. */
  readonly takesPin: boolean;
  /** Whether any connection is signed on, busy or not. If false, connections are being opened, or none exists. */
  readonly isSignedOn: boolean;
  /** Whether every signed-on connection has stopped responding: another switch is preferable, if there is one. */
  readonly isSuspect: boolean;
  /** Whether every slot of the signed-on connections is taken: a new request would have to wait. */
  readonly isFull: boolean;
  /**
   * The next STAN within the scope that the profile names; undefined if the business day has none left.
   *
   * @param use `followUp`: for a reversal or completion of an earlier request, for which a reserve is kept
   */
  nextStan(tid: string, use?: 'followUp'): Promise<TakenStan | undefined>;
  /** Undefined if no connection is signed on or about to be, or all are full. */
  takeSlot(connectionId?: string): Promise<SwitchSlot | undefined>;
  /** Whether the connection is still open, signed on or not. */
  hasConnection(connectionId: string): boolean;
  /**
   * Builds the message and tries to encode it, so that a message that cannot be sent is found before anything is
   * committed.
   *
   * @throws TapwireError if a value does not fit the fields of the switch
   */
  prepare(purchase: Purchase): PreparedRequest;
  /** Whether the switch verifies cards for mandates. */
  readonly takesMandates: boolean;
  /** The same for a mandate, which verifies the card and takes no money; only if mandates are supported. */
  prepareMandate(purchase: Purchase): PreparedRequest;
  /** Prepares a refund; undefined if the switch takes none. */
  prepareRefund(refund: Refund): PreparedRequest | undefined;
  /**
   * Translates a PIN inside the HSM from the reader's key to the switch's.
   *
   * @throws PinUnusable if the block holds no PIN of this card, HsmUnavailable if the HSM does not respond in time
   */
  translatePin(pin: EnteredPin, pan: string): Promise<PinData>;
  /** The identity of the merchant at this switch, for integrators. */
  providerId(terminal: Terminal): ProviderValues;
}

/** A request to one switch, ready to be written. */
export interface PreparedRequest {
  /** What a reversal must repeat of the request. */
  readonly original: OriginalData;
  /** Whether the switch posts its approval only after a completion. */
  readonly wantsCompletion?: boolean | undefined;
}

export interface Switches {
  find(acquirerId: number, processorId: number): Switch | undefined;
}

/**
 * The connections of the other processes of the installation. A switch may accept fewer sessions than there are
 * processes, so a process without one leaves its work to a process that has one.
 */
export interface OtherProcesses {
  /** Seals taps for the process with the connection; undefined if this process accepts no taps itself. */
  readonly handover: Handover | undefined;
  /** The processors, `<acquirer> <processor>`, to which only other processes are signed on. */
  leftToOthers(): readonly string[];
  /** The first of these processors to which another process is signed on, in its last report. */
  reaching(acquirerId: number, processorIds: readonly number[]): number | undefined;
  /** The same, with the reports read again. */
  lookFor(acquirerId: number, processorIds: readonly number[]): Promise<number | undefined>;
}

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

/** A PIN as a reader enciphered it. */
export interface EnteredPin {
  /** 8 bytes, or 16 in ISO format 4. */
  readonly block: Uint8Array;
  /** 10 bytes of a TDES device, 12 of an AES one. */
  readonly ksn: Uint8Array;
}

/** The base derivation key under which readers encipher PINs, and the format of their blocks of 8 bytes. */
export interface ReaderPinKey {
  readonly keyId: string;
  readonly format: 0 | 1 | 3;
}

/**
 * The relation of a pinToken to a transaction: its current token, a token whose PIN was submitted or which has
 * expired, or a token of another transaction.
 */
export type PinTokenVerdict = 'good' | 'spent' | 'foreign';

/** Tokens with which a phone submits the requested PIN. */
export interface PinTokens {
  /** Issues a token for a transaction that awaits a PIN. */
  issue(transaction: Transaction): Promise<string>;
  check(token: string, transaction: Transaction): Promise<PinTokenVerdict>;
}
