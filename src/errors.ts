/**
 * Every error of Tapwire, in one place: one class per decision a caller makes, one stable `code` per cause.
 * A message names what went wrong and where, never the bytes: card data must not reach a log through an error.
 */

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

export abstract class TapwireError extends Error {
  abstract readonly code: string;
  /** True when the same call may succeed later without a change by the caller. */
  readonly retryable: boolean = false;

  override get name(): string {
    return this.constructor.name;
  }
}

export class TlvError extends TapwireError {
  readonly code: TlvErrorCode;
  /** Absolute byte offset inside the input: tag errors at the first tag byte, length errors at the first length byte. */
  readonly offset: number;
  /** The tag read there. Not in the message: behind a wrong length it can be three bytes of a PAN. */
  readonly tag: number | undefined;

  constructor(code: TlvErrorCode, offset: number, tag?: number) {
    super(`${code} at byte ${offset}`);
    this.code = code;
    this.offset = offset;
    this.tag = tag;
  }
}

/** Why the gateway cannot start: shown to whoever started it, in one line, before exit code 1. */
export type StartErrorCode = 'NO_DATABASE' | 'DATABASE_TOO_OLD' | 'BAD_CONFIG' | 'BAD_PROCESSOR' | 'PORT_IN_USE';

export class StartError extends TapwireError {
  readonly code: StartErrorCode;

  constructor(code: StartErrorCode, message: string, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
  }
}

/** Why text is no hex or no row of decimal digits. */
export type DigitErrorCode = 'ODD_COUNT' | 'NOT_HEX' | 'NOT_A_DIGIT';

export class DigitError extends TapwireError {
  readonly code: DigitErrorCode;
  /** Where in the input: a character of a text, a byte of packed digits. */
  readonly offset: number;

  constructor(code: DigitErrorCode, offset: number) {
    super(`${code} at ${offset}`);
    this.code = code;
    this.offset = offset;
  }
}

/**
 * Card data of a reader that could not be used. One code for every cause, so that nobody learns from the answer how far
 * an attempt came: 400 with errorCode 202.
 */
export type CardDataErrorCode = 'CARD_DATA_UNREADABLE';

export class CardDataError extends TapwireError {
  readonly code: CardDataErrorCode = 'CARD_DATA_UNREADABLE';
  readonly httpStatus = 400;
  /** DecryptRequestError. */
  readonly errorCode = 202;

  constructor() {
    super('CARD_DATA_UNREADABLE');
  }
}

/** Why a value that we sealed for ourselves (PAN at rest, handover between processes) cannot be sealed or opened. */
export type SealErrorCode = 'KEY_GONE' | 'SEAL_BROKEN' | 'NO_WORKER' | 'TOO_LARGE';

export class SealError extends TapwireError {
  readonly code: SealErrorCode;
  override readonly retryable: boolean;

  constructor(code: SealErrorCode) {
    super(code);
    this.code = code;
    this.retryable = code === 'NO_WORKER';
  }
}

/** Why a credential was refused; each has its HTTP status and errorCode in `AUTH_ANSWERS`. */
export type AuthErrorCode = 'UNAUTHORISED' | 'API_KEY_INVALID' | 'JWT_INVALID' | 'JWT_EXPIRED' | 'FORBIDDEN';

/** What a caller is answered. A missing credential and a wrong one are 401, a good one without the right is 403. */
export const AUTH_ANSWERS = {
  UNAUTHORISED: { httpStatus: 401, errorCode: 100 },
  API_KEY_INVALID: { httpStatus: 401, errorCode: 102 },
  JWT_INVALID: { httpStatus: 401, errorCode: 117 },
  JWT_EXPIRED: { httpStatus: 401, errorCode: 118 },
  FORBIDDEN: { httpStatus: 403, errorCode: 101 },
} as const satisfies Record<AuthErrorCode, { httpStatus: number; errorCode: number }>;

export class AuthError extends TapwireError {
  readonly code: AuthErrorCode;
  readonly httpStatus: 401 | 403;
  readonly errorCode: number;
  /** The check that failed, for the owner of the credential (`POST /tokens/check`) and for metrics; never in an answer. */
  readonly check: string;

  constructor(code: AuthErrorCode, check: string) {
    super(code);
    this.code = code;
    this.httpStatus = AUTH_ANSWERS[code].httpStatus;
    this.errorCode = AUTH_ANSWERS[code].errorCode;
    this.check = check;
  }
}

/** Why a cryptographic operation was refused. The text says no more than the code: neither key nor PIN shows through it. */
export type CryptoErrorCode = keyof typeof CRYPTO_ERRORS;

const CRYPTO_ERRORS = {
  KEY_LENGTH: 'the key has a length that its algorithm or its use does not allow',
  KEY_PARITY: 'a byte of the DES key has even parity: wrong key encryption key, or a damaged cryptogram',
  KEY_UNKNOWN: 'no key has this id',
  KEY_EXISTS: 'a live key has this id already',
  KEY_USAGE: 'the key may not be used for this',
  KEY_TOO_WEAK: 'a key may be carried only under one that is at least as strong',
  KEY_CHECK_VALUE: 'the check value is another than announced',
  TOO_MANY_KEYS: 'the key store is full',
  KEY_BLOCK: 'not a well-formed TR-31 key block',
  KEY_BLOCK_UNSUPPORTED: 'a TR-31 version, algorithm or use that is not accepted',
  KEY_BLOCK_MAC: 'the TR-31 key block is not authentic under this key',
  KSN: 'not a key serial number of a transaction',
  PIN_BLOCK: 'the PIN block cannot be used',
  DATA_LENGTH: 'the data is too long, or not whole blocks',
  SOFT_HSM_FORBIDDEN: 'the software HSM works in dev and qa only',
} as const;

export class CryptoError extends TapwireError {
  readonly code: CryptoErrorCode;

  constructor(code: CryptoErrorCode) {
    super(`${code}: ${CRYPTO_ERRORS[code]}`);
    this.code = code;
  }
}

/** Why text is no amount of money. */
export type MoneyErrorCode = 'UNKNOWN_CURRENCY' | 'NOT_AN_AMOUNT' | 'TOO_MANY_DECIMALS' | 'AMOUNT_TOO_LARGE';

export class MoneyError extends TapwireError {
  readonly code: MoneyErrorCode;

  constructor(code: MoneyErrorCode) {
    super(code);
    this.code = code;
  }
}

/** Why a processor plug-in cannot be used. */
export type ProcessorErrorCode =
  | 'PROCESSOR_NOT_FOUND'
  | 'PROCESSOR_BROKEN'
  | 'PROCESSOR_INVALID'
  | 'PROCESSOR_DUPLICATE';

/** A plug-in that is missing, does not run or is not one: the message names the file and the reason. */
export class ProcessorError extends TapwireError {
  readonly code: ProcessorErrorCode;
  readonly reason: string;

  constructor(code: ProcessorErrorCode, reason: string, options?: ErrorOptions) {
    super(`${code}: ${reason}`, options);
    this.code = code;
    this.reason = reason;
  }
}

/** Why a tap is refused for what its card says; none of it is the issuer's to judge. */
export type CardErrorCode = keyof typeof CARD_ERRORS;

const CARD_ERRORS = {
  PAN_MISSING: 'neither 57 nor 5A is there',
  PAN_MALFORMED: '5A is no PAN',
  PAN_LUHN: 'the check digit of the PAN is wrong',
  PAN_MISMATCH: '5A is another PAN than 57',
  TRACK2_MALFORMED: 'track 2 is no PAN, separator, YYMM and digits',
  TRACK2_TOO_LONG: 'track 2 is longer than 37 characters',
  EXPIRY_MALFORMED: '5F24 is no date',
  SEQUENCE_NUMBER_MALFORMED: '5F34 is not two digits',
  CRYPTOGRAM_MISSING: '9F27 is missing',
  CRYPTOGRAM_RFU: '9F27 announces a cryptogram that EMV does not define',
  APPROVED_OFFLINE: '9F27 announces a TC: the card approved offline',
  MAGSTRIPE_MODE: 'the card was read in magstripe mode',
} as const;

export class CardError extends TapwireError {
  readonly code: CardErrorCode;

  constructor(code: CardErrorCode) {
    super(`${code}: ${CARD_ERRORS[code]}`);
    this.code = code;
  }
}

/** Why a simulated switch cannot be started as asked. */
export type SimulatorErrorCode = 'LATENCY_INVALID' | 'FAULT_INVALID' | 'PORT_TAKEN';

export class SimulatorError extends TapwireError {
  readonly code: SimulatorErrorCode;

  constructor(code: SimulatorErrorCode, reason: string, options?: ErrorOptions) {
    super(`${code}: ${reason}`, options);
    this.code = code;
  }
}
