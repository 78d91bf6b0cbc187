import type { Transaction } from '../model/transaction.ts';

/** A PIN as a reader enciphered it. */
export interface EnteredPin {
  /** 8 bytes, or 16 in ISO format 4. */
  readonly block: Uint8Array;
  /** 10 bytes of a TDES device, 12 of an AES one. */
  readonly ksn: Uint8Array;
}

/** What a pinToken is to a transaction: its own, one whose PIN was submitted or whose time is over, or none of its own. */
export type PinTokenVerdict = 'good' | 'spent' | 'foreign';

/** Tokens by which a phone submits the PIN that it was asked for. */
export interface PinTokens {
  /** For a transaction that awaits a PIN. */
  issue(transaction: Transaction): Promise<string>;
  check(token: string, transaction: Transaction): Promise<PinTokenVerdict>;
}
