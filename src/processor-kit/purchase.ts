import type { TlvValues } from '../emv/tlv-values.ts';

/**
 * What the gateway hands to a processor: plain values, complete. Nothing else may influence a message, so the same
 * value always gives the same bytes.
 */

/** An amount as the switch is told it. `amountMinor` is an integer of at most 12 digits. */
export interface Amount {
  readonly amountMinor: number;
  /** ISO 4217 letters, `ZAR`. */
  readonly currency: string;
  /** ISO 4217 digits, `710`: what DE49 carries. */
  readonly currencyNumeric: string;
}

/** The card as read from the chip. Never logged: the gateway holds it in memory only. */
export interface Card {
  readonly pan: string;
  /** Track 2 equivalent data with separator `D`, at most 37 digits; absent when the reader sent 5A and 5F24 instead. */
  readonly track2?: string | undefined;
  /** YYMM, the order of DE14. */
  readonly expiry: string;
  /** Application PAN sequence number as n3 for DE23; absent when the card has none. */
  readonly panSequence?: string | undefined;
  /** `Visa`, `Mastercard`, `Amex` ... by AID. */
  readonly scheme: string;
}

/** The chip's data objects by tag, as the reader sent them (EMV Book 3 Annex A). */
export type ChipData = TlvValues;

export interface Terminal {
  /** DE41, at most 8 characters. */
  readonly tid: string;
  /** DE42, at most 15 characters. */
  readonly mid: string;
  readonly canTakePin: boolean;
}

export interface Merchant {
  readonly name: string;
  readonly city: string;
  /** ISO 3166 two letters. */
  readonly country: string;
  /** Merchant category code, n4. */
  readonly mcc: string;
}

/** A PIN as the switch takes it: already translated to the switch's key inside the HSM. */
export interface PinData {
  /** 8 bytes (ISO 0, 1, 3) or 16 (ISO 4). */
  readonly block: Uint8Array;
  /** DUKPT key serial number, 10 or 12 bytes, where the switch wants one. */
  readonly ksn?: Uint8Array | undefined;
  /** Of the zone PIN key, where it was exchanged: a dialect that exchanges PIN keys says in the message which one it is. */
  readonly keyNumber?: number | undefined;
}

/** What every message to the switch carries, whatever it asks. */
export interface MessageStamp {
  /** Systems trace audit number, n6, 000001 to 999999. */
  readonly stan: string;
  /** Milliseconds since 1970, UTC: DE7. */
  readonly sentAtMs: number;
}

/** A stamp with the wall clock of the terminal: DE12 and DE13. */
export interface LocalStamp extends MessageStamp {
  /** `YYYYMMDDHHmmss` on the terminal's wall clock. */
  readonly localDateTime: string;
}

/** One attempt to authorize a tap. */
export interface Purchase extends LocalStamp {
  /** Retrieval reference number, an12. */
  readonly rrn: string;
  readonly amount: Amount;
  readonly card: Card;
  readonly chip: ChipData;
  readonly terminal: Terminal;
  readonly merchant: Merchant;
  /** Present in a PIN follow-up, or when the reader took the PIN with the first tap (9F34 says online PIN). */
  readonly pin?: PinData | undefined;
}

/** Why a reversal is sent: DE56 of type 1, DE39 of others. */
export type ReversalReason = 'timeout' | 'unusable-response' | 'void' | 'late-approval';

/**
 * What a reversal or a refund repeats of its original, by field name. Made by `originalData`, kept sealed by the
 * gateway from the moment the original was built; never sensitive authentication data.
 */
export type OriginalData = Readonly<Record<string, string>>;

export interface Reversal extends LocalStamp {
  readonly original: OriginalData;
  readonly reason: ReversalReason;
  /** Attempt number, from 1: the first is the plain reversal, later ones are repeats. */
  readonly attempt: number;
  /** DE38 of an approval that came after the deadline, or of the sale that is voided. */
  readonly authorizationCode?: string | undefined;
}

/** Money back on an earlier sale: a transaction of its own. */
export interface Refund extends LocalStamp {
  readonly original: OriginalData;
  readonly rrn: string;
  readonly amount: Amount;
}
