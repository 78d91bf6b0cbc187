import type { Transaction } from '../model/transaction.ts';

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
