import { TapwireError } from './tapwire-error.ts';

/**
 * Card data of a reader that cannot be used. There is one code for every cause, so that a response does not reveal how far an
 * attack got.
 */
export type CardDataErrorCode = 'CARD_DATA_UNREADABLE';

export class CardDataError extends TapwireError<CardDataErrorCode> {
  constructor() {
    super('CARD_DATA_UNREADABLE');
  }
}

/**
 * Why a value that the gateway sealed for itself (PAN at rest, handover between processes) cannot be sealed or
 * opened.
 */
export type SealErrorCode = 'KEY_GONE' | 'NOT_KEPT' | 'SEAL_BROKEN' | 'NO_WORKER' | 'TOO_LARGE';

export class SealError extends TapwireError<SealErrorCode> {
  override readonly retryable: boolean;

  constructor(code: SealErrorCode) {
    super(code);
    this.retryable = code === 'NO_WORKER';
  }
}

/** Why a tap is refused because of its card data. None of these cases needs a decision of the issuer. */
export type CardErrorCode = keyof typeof CARD_ERRORS;

export const CARD_ERRORS = {
  PAN_MISSING: '57 and 5A are both missing',
  PAN_MALFORMED: '5A is not a PAN',
  PAN_LUHN: 'the check digit of the PAN is wrong',
  PAN_MISMATCH: '5A and 57 contain different PANs',
  TRACK2_MALFORMED: 'track 2 is not PAN, separator, YYMM and digits',
  TRACK2_TOO_LONG: 'track 2 is longer than 37 characters',
  EXPIRY_MALFORMED: '5F24 is not a date',
  SEQUENCE_NUMBER_MALFORMED: '5F34 is not two digits',
  CRYPTOGRAM_MISSING: '9F27 is missing',
  CRYPTOGRAM_RFU: '9F27 announces a cryptogram that EMV does not define',
  APPROVED_OFFLINE: '9F27 announces a TC: the card approved offline',
  MAGSTRIPE_MODE: 'the card was read in magstripe mode',
} as const;

export class CardError extends TapwireError<CardErrorCode> {
  constructor(code: CardErrorCode) {
    super(code, CARD_ERRORS[code]);
  }
}

/**
 * Why a cryptographic operation was refused. The text has no more detail than the code, so it reveals neither key
 * nor PIN.
 */
export type CryptoErrorCode = keyof typeof CRYPTO_ERRORS;

const CRYPTO_ERRORS = {
  KEY_LENGTH: 'the algorithm or the use of the key does not allow its length',
  KEY_PARITY: 'a byte of the DES key has even parity: wrong key encryption key, or a damaged cryptogram',
  KEY_UNKNOWN: 'no key has this id',
  KEY_EXISTS: 'another live key has this id',
  KEY_USAGE: 'the key must not be used for this purpose',
  KEY_TOO_WEAK: 'a key may only be wrapped by a key that is at least as strong',
  KEY_CHECK_VALUE: 'the check value differs from the announced one',
  TOO_MANY_KEYS: 'the key store is full',
  KEY_BLOCK: 'not a well-formed TR-31 key block',
  KEY_BLOCK_UNSUPPORTED: 'a TR-31 version, algorithm or use that is not accepted',
  KEY_BLOCK_MAC: 'the TR-31 key block is not authentic under this key',
  KSN: 'not a key serial number of a transaction',
  PIN_BLOCK: 'the PIN block cannot be used',
  DATA_LENGTH: 'the data is too long, or not a whole number of blocks',
  SOFT_HSM_FORBIDDEN: 'the software HSM works in dev and qa only',
} as const;

export class CryptoError extends TapwireError<CryptoErrorCode> {
  constructor(code: CryptoErrorCode) {
    super(code, CRYPTO_ERRORS[code]);
  }
}
