import { fromHex } from '../../codecs/bytes/hex.ts';
import { indexTlv } from '../../codecs/emv/tlv.ts';
import type { TlvValues } from '../../codecs/emv/tlv-values.ts';

/**
 * The input of a processor: plain, complete values. Nothing else may influence a message, so the same value always
 * gives the same bytes.
 */

/** An amount as the switch receives it. `amountMinor` is an integer of at most 12 digits. */
export interface Amount {
  readonly amountMinor: number;
  /** ISO 4217 letters, such as `ZAR`. */
  readonly currency: string;
  /** ISO 4217 digits, such as `710`: the value of DE49. */
  readonly currencyNumeric: string;
}

/** The card as read from the chip. Never logged: the gateway holds it in memory only. */
export interface Card {
  readonly pan: string;
  /** Track 2 equivalent data with separator `D`, at most 37 digits; absent if the reader sent 5A and 5F24 instead. */
  readonly track2?: string | undefined;
  /** YYMM, the order of DE14. */
  readonly expiry: string;
  /** Application PAN sequence number as n3 for DE23; absent if the card has none. */
  readonly panSequence?: string | undefined;
  /** `Visa`, `Mastercard`, `Amex` and others, according to the AID. */
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

/** A PIN as the switch requires it: already translated to the switch's key inside the HSM. */
export interface PinData {
  /** 8 bytes (ISO 0, 1, 3) or 16 (ISO 4). */
  readonly block: Uint8Array;
  /** DUKPT key serial number, 10 or 12 bytes, if the switch requires one. */
  readonly ksn?: Uint8Array | undefined;
  /**
   * Number of the zone PIN key, if it was exchanged: a dialect that exchanges PIN keys names the key in the message.
   */
  readonly keyNumber?: number | undefined;
}

/** The values that every message to the switch carries. */
export interface MessageStamp {
  /** Systems trace audit number, n6, 000001 to 999999. */
  readonly stan: string;
  /** Milliseconds since 1970, UTC: DE7. */
  readonly sentAtMs: number;
}

/** A stamp with the local time of the terminal: DE12 and DE13. */
export interface LocalStamp extends MessageStamp {
  /** `YYYYMMDDHHmmss` in the terminal's local time. */
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
  /** Present in a PIN follow-up, or if the reader took the PIN with the first tap (9F34 states online PIN). */
  readonly pin?: PinData | undefined;
}

/** Why a reversal is sent: DE56 of type 1, DE39 of other types. */
export type ReversalReason = 'timeout' | 'unusable-response' | 'void' | 'late-approval';

/**
 * The fields of its original that a reversal or a refund repeats, by name. `originalData` makes them, and the gateway
 * seals them as soon as the original is built. Never sensitive authentication data.
 */
export type OriginalData = Readonly<Record<string, string>>;

export interface Reversal extends LocalStamp {
  readonly original: OriginalData;
  readonly reason: ReversalReason;
  /** Attempt number, from 1: the first is the plain reversal, later ones are repeats. */
  readonly attempt: number;
  /** DE38 of a late approval, or of the sale that is voided. */
  readonly authorizationCode?: string | undefined;
}

/** A refund of an earlier sale: a transaction of its own. */
export interface Refund extends LocalStamp {
  readonly original: OriginalData;
  readonly rrn: string;
  readonly amount: Amount;
}

const CHIPS = {
  Visa:
    '8407A0000000031010820220009F36020A1B9F26081122334455667788950500000000009A032611209C01005F2A0207109F02060000000012' +
    '349F03060000000000009F090200969F100706010A03A000009F1A0207109F1E0831323334353637389F2701809F33030008C89F34031F03' +
    '029F3501219F3704DEADBEEF9F410400000042',
  Mastercard:
    '8407A0000000041010820219809F36020A1B9F26081122334455667788950500000080009A032611209C01005F2A0207109F02060000000012' +
    '349F03060000000000009F090200029F10120110A00003220000000000000000000000FF9F1A0207109F2701809F33030008C89F34031F0302' +
    '9F3501229F3704DEADBEEF9F6E04002000009F530152',
} as const;

/**
 * A tap of 12.34 ZAR on 20 November 2026 at 14:10:05 UTC, in Cape Town, for the samples of a processor type. Only the
 * terminal of the Mastercard can take a PIN.
 */
export function samplePurchase(scheme: keyof typeof CHIPS): Purchase {
  const isVisa = scheme === 'Visa';
  const pan = isVisa ? '4111111111111111' : '5413330089010640';
  return {
    stan: '000123',
    rrn: '632414000123',
    sentAtMs: Date.UTC(2026, 10, 20, 14, 10, 5),
    localDateTime: '20261120161005',
    amount: { amountMinor: 1_234, currency: 'ZAR', currencyNumeric: '710' },
    card: { pan, track2: `${pan}D3012201000000000000`, expiry: '3012', panSequence: '001', scheme },
    chip: indexTlv(fromHex(CHIPS[scheme])),
    terminal: isVisa
      ? { tid: 'TERM0001', mid: 'MERCHANT0000001', canTakePin: false }
      : { tid: 'TERM0002', mid: 'MERCHANT0000002', canTakePin: true },
    merchant: { name: 'Corner Shop', city: 'Cape Town', country: 'ZA', mcc: '5411' },
  };
}
