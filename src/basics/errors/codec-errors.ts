import { TapwireError } from './tapwire-error.ts';

/** Why a BER-TLV blob was refused (EMV Book 3 Annex B). */
export type TlvErrorCode =
  | 'TAG_TRUNCATED'
  | 'TAG_TOO_LONG'
  | 'LENGTH_MISSING'
  | 'LENGTH_TRUNCATED'
  | 'LENGTH_TOO_LONG'
  | 'LENGTH_INDEFINITE'
  | 'VALUE_TRUNCATED'
  | 'TOO_DEEP'
  | 'TOO_MANY_OBJECTS'
  | 'TOO_LARGE'
  | 'TAG_INVALID'
  | 'CONFLICTING_VALUES';

export class TlvError extends TapwireError<TlvErrorCode> {
  /** Absolute byte offset inside the input: tag errors at the first tag byte, length errors at the first length byte. */
  readonly offset: number;
  /** The tag at the offset. It is not in the message: after a wrong length it can be three bytes of a PAN. */
  readonly tag: number | undefined;

  constructor(code: TlvErrorCode, offset: number, tag?: number) {
    super(code, `at byte ${offset}`);
    this.offset = offset;
    this.tag = tag;
  }
}

/** Why a text is not hex, or not a sequence of decimal digits. */
export type DigitErrorCode = 'ODD_COUNT' | 'NOT_HEX' | 'NOT_A_DIGIT';

export class DigitError extends TapwireError<DigitErrorCode> {
  /** Position in the input: a character of a text, a byte of packed digits. */
  readonly offset: number;

  constructor(code: DigitErrorCode, offset: number) {
    super(code, `at ${offset}`);
    this.offset = offset;
  }
}

/** Why bytes are not a message of a spec, or a message cannot be encoded with it. */
export type Iso8583ErrorCode = keyof typeof ISO8583_ERRORS;

const ISO8583_ERRORS = {
  TRUNCATED: 'the input ends inside the field',
  TRAILING_BYTES: 'unexpected bytes follow',
  LENGTH_INVALID: 'the length is not written in the digits of the spec, or is impossible',
  LENGTH_TOO_LONG: 'the value is longer than the spec allows',
  LENGTH_TOO_SHORT: 'the value is shorter than the spec allows',
  CONTENT_INVALID: 'the value has a character that its type does not allow',
  PADDING_INVALID: 'the padding differs from the spec',
  BITMAP_INVALID: 'the bitmap is not written in hex digits',
  FIELD_UNKNOWN: 'the spec does not define this field',
  TAG_INVALID: 'the tag is not valid',
  TAG_UNKNOWN: 'the spec does not define this tag',
  TLV_INVALID: 'the value is not well-formed BER-TLV',
  TOO_MANY_ELEMENTS: 'the value has more elements than the limit',
  MESSAGE_TOO_LONG: 'the message is longer than the limit',
  FIELD_MISSING: 'the field is required',
  FIELD_FORBIDDEN: 'the field is not allowed',
  VALUE_TYPE: 'the value does not have the type of the spec',
  VALUE_WITHHELD: 'the value is null, which means that it was withheld',
  TARGET_TOO_SMALL: 'the target has too little space',
  SPEC_INVALID: 'the spec is not usable',
} as const;

/**
 * A message that cannot be decoded or encoded. `field` is the path of numbers (`127.25.9F02`). `offset` is the byte
 * where the fault begins, counted from the first byte of the message.
 */
export class Iso8583Error extends TapwireError<Iso8583ErrorCode> {
  readonly field: string;
  readonly offset: number;
  /** Private, so that no logger, inspector or serializer that walks over the error reaches card data. */
  #partial: object | undefined;

  constructor(code: Iso8583ErrorCode, field: string, offset: number, detail?: string) {
    const where = code === 'SPEC_INVALID' ? field : `${field} at byte ${offset}`;
    super(code, `field ${where}: ${detail ?? ISO8583_ERRORS[code]}`);
    this.field = field;
    this.offset = offset;
  }

  /** The part of the message that was decoded; undefined for encoding errors. Contains card data. */
  get partial(): object | undefined {
    return this.#partial;
  }

  /** Attaches what was decoded before the error occurred. */
  withPartial(partial: object): this {
    this.#partial = partial;
    return this;
  }
}

/** Why a text is not an amount of money. */
export type MoneyErrorCode = 'UNKNOWN_CURRENCY' | 'NOT_AN_AMOUNT' | 'TOO_MANY_DECIMALS' | 'AMOUNT_TOO_LARGE';

export class MoneyError extends TapwireError<MoneyErrorCode> {}

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
