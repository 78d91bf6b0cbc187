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

/** `message` is the code, followed by fixed words on what went wrong and where. */
export abstract class TapwireError<Code extends string = string> extends Error {
  readonly code: Code;
  /** True when the same call may succeed later without a change by the caller. */
  readonly retryable: boolean = false;

  constructor(code: Code, words?: string, options?: ErrorOptions) {
    super(words === undefined ? code : `${code}: ${words}`, options);
    this.code = code;
  }

  override get name(): string {
    return this.constructor.name;
  }
}

export class TlvError extends TapwireError<TlvErrorCode> {
  /** Absolute byte offset inside the input: tag errors at the first tag byte, length errors at the first length byte. */
  readonly offset: number;
  /** The tag read there. Not in the message: behind a wrong length it can be three bytes of a PAN. */
  readonly tag: number | undefined;

  constructor(code: TlvErrorCode, offset: number, tag?: number) {
    super(code, `at byte ${offset}`);
    this.offset = offset;
    this.tag = tag;
  }
}

/** Why the gateway cannot start: shown to whoever started it, in one line, before exit code 1. */
export type StartErrorCode = 'NO_DATABASE' | 'DATABASE_TOO_OLD' | 'BAD_CONFIG' | 'BAD_PROCESSOR' | 'PORT_IN_USE';

export class StartError extends TapwireError<StartErrorCode> {
  /** For whoever started it: a sentence. */
  readonly reason: string;

  constructor(code: StartErrorCode, reason: string, options?: ErrorOptions) {
    super(code, reason, options);
    this.reason = reason;
  }
}

/** Why text is no hex or no row of decimal digits. */
export type DigitErrorCode = 'ODD_COUNT' | 'NOT_HEX' | 'NOT_A_DIGIT';

export class DigitError extends TapwireError<DigitErrorCode> {
  /** Where in the input: a character of a text, a byte of packed digits. */
  readonly offset: number;

  constructor(code: DigitErrorCode, offset: number) {
    super(code, `at ${offset}`);
    this.offset = offset;
  }
}

/**
 * Card data of a reader that could not be used. One code for every cause, so that nobody learns from the answer how far
 * an attempt came: 400 with errorCode 202.
 */
export type CardDataErrorCode = 'CARD_DATA_UNREADABLE';

export class CardDataError extends TapwireError<CardDataErrorCode> {
  readonly httpStatus = 400;
  /** DecryptRequestError. */
  readonly errorCode = 202;

  constructor() {
    super('CARD_DATA_UNREADABLE');
  }
}

/** Why a value that we sealed for ourselves (PAN at rest, handover between processes) cannot be sealed or opened. */
export type SealErrorCode = 'KEY_GONE' | 'SEAL_BROKEN' | 'NO_WORKER' | 'TOO_LARGE';

export class SealError extends TapwireError<SealErrorCode> {
  override readonly retryable: boolean;

  constructor(code: SealErrorCode) {
    super(code);
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

export class AuthError extends TapwireError<AuthErrorCode> {
  readonly httpStatus: 401 | 403;
  readonly errorCode: number;
  /** The check that failed, for the owner of the credential (`POST /tokens/check`) and for metrics; never in an answer. */
  readonly check: string;

  constructor(code: AuthErrorCode, check: string) {
    super(code);
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

export class CryptoError extends TapwireError<CryptoErrorCode> {
  constructor(code: CryptoErrorCode) {
    super(code, CRYPTO_ERRORS[code]);
  }
}

/** Why text is no amount of money. */
export type MoneyErrorCode = 'UNKNOWN_CURRENCY' | 'NOT_AN_AMOUNT' | 'TOO_MANY_DECIMALS' | 'AMOUNT_TOO_LARGE';

export class MoneyError extends TapwireError<MoneyErrorCode> {}

/** Why a processor plug-in cannot be used. */
export type ProcessorErrorCode =
  | 'PROCESSOR_NOT_FOUND'
  | 'PROCESSOR_BROKEN'
  | 'PROCESSOR_INVALID'
  | 'PROCESSOR_DUPLICATE';

/** A plug-in that is missing, does not run or is not one: the message names the file and the reason. */
export class ProcessorError extends TapwireError<ProcessorErrorCode> {
  readonly reason: string;

  constructor(code: ProcessorErrorCode, reason: string, options?: ErrorOptions) {
    super(code, reason, options);
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

export class CardError extends TapwireError<CardErrorCode> {
  constructor(code: CardErrorCode) {
    super(code, CARD_ERRORS[code]);
  }
}

/** Why a simulated switch cannot be started as asked. */
export type SimulatorErrorCode = 'LATENCY_INVALID' | 'FAULT_INVALID' | 'PORT_TAKEN';

export class SimulatorError extends TapwireError<SimulatorErrorCode> {}

/** Why a connection to a switch refused a message or gave up reading. */
export type ConnectionErrorCode = keyof typeof CONNECTION_ERRORS;

const CONNECTION_ERRORS = {
  FRAMING_INVALID: 'no frame satisfies the framing',
  FRAME_EMPTY: 'the switch sent a frame of length zero',
  FRAME_TOO_SHORT: 'the switch sent a frame shorter than its header',
  FRAME_TOO_LONG: 'the switch announced a frame longer than the limit',
  MESSAGE_LENGTH: 'the encoded message is empty or longer than the longest frame',
  DUPLICATE_KEY: 'a request with the same match key is waiting for its answer',
  SLOT_SPENT: 'the slot was used or released before',
  EXCHANGE_FAILED: 'the switch did not answer',
} as const;

export class ConnectionError extends TapwireError<ConnectionErrorCode> {
  constructor(code: ConnectionErrorCode, detail?: string) {
    super(code, `${CONNECTION_ERRORS[code]}${detail === undefined ? '' : ` (${detail})`}`);
  }
}

/**
 * A tap that must not go online: recorded as BadRequestReceived and answered 400. `pointer` is the JSON pointer of the
 * field at fault, `code` the check that failed, `errorCode` 202 for what the card or its seal says, 104 for the rest.
 */
export class TapRefused extends TapwireError {
  readonly pointer: string;
  readonly errorCode: 104 | 202;

  constructor(pointer: string, code: string, errorCode: 104 | 202, options?: ErrorOptions) {
    super(code, `in ${pointer}`, options);
    this.pointer = pointer;
    this.errorCode = errorCode;
  }
}

/** A PIN block that the HSM cannot open for this card: as wrong as a PIN that the issuer refuses. */
export class PinUnusable extends TapwireError {
  constructor(options?: ErrorOptions) {
    super('PIN_UNUSABLE', undefined, options);
  }
}

/** A PIN for a transaction that waits for none, or no more: 409. */
export class PinNotAwaited extends TapwireError {
  constructor() {
    super('PIN_NOT_AWAITED');
  }
}

/** A credential is good and yet may not do this: 403. */
export type ForbiddenCode = 'FORBIDDEN' | 'BLOCKED_USER' | 'BLOCKED_DEVICE';

export class Forbidden extends TapwireError<ForbiddenCode> {}

/** The merchant has used this reference for something else: 409, errorCode 124. */
export class DuplicateReference extends TapwireError {
  constructor() {
    super('DUPLICATE_REFERENCE');
  }
}

/** No terminal, route or currency fits the tap: recorded as ErrorFindingConfig and answered 500, errorCode 208. */
export class NoConfiguration extends TapwireError<'NO_TERMINAL' | 'NO_ROUTE'> {}

/** So much waits already that a new tap would be answered late: refused before anything is stored, 503. */
export class Overloaded extends TapwireError {
  override readonly retryable = true;

  constructor() {
    super('OVERLOADED');
  }
}

/** The database did not take, or may not have taken, a commit: 503 when nothing was stored, 500 when it may have been. */
export class StoreUnavailable extends TapwireError {
  override readonly retryable = true;
  readonly mayBeStored: boolean;

  constructor(mayBeStored: boolean, options?: ErrorOptions) {
    super('STORE_UNAVAILABLE', undefined, options);
    this.mayBeStored = mayBeStored;
  }
}

/** Why bytes are no message of a spec, or a message cannot be written in it. */
export type Iso8583ErrorCode = keyof typeof ISO8583_ERRORS;

const ISO8583_ERRORS = {
  TRUNCATED: 'the input ends inside it',
  TRAILING_BYTES: 'there are bytes behind it that belong to nothing',
  LENGTH_INVALID: 'its length is not written in digits of the spec, or cannot be',
  LENGTH_TOO_LONG: 'it is longer than the spec allows',
  LENGTH_TOO_SHORT: 'it is shorter than the spec allows',
  CONTENT_INVALID: 'it has a character that its type does not allow',
  PADDING_INVALID: 'its padding is another than the spec says',
  BITMAP_INVALID: 'the bitmap is not written in hex digits',
  FIELD_UNKNOWN: 'the spec has no such field',
  TAG_INVALID: 'its tag is no tag',
  TAG_UNKNOWN: 'the spec has no such tag',
  TLV_INVALID: 'it is not well-formed BER-TLV',
  TOO_MANY_ELEMENTS: 'it has more elements than the limit',
  MESSAGE_TOO_LONG: 'the message is longer than the limit',
  FIELD_MISSING: 'it must be there and is not',
  FIELD_FORBIDDEN: 'it is there and must not be',
  VALUE_TYPE: 'its value is not of the type that the spec says',
  TARGET_TOO_SMALL: 'the target has no room for it',
  SPEC_INVALID: 'the spec cannot be used',
} as const;

/**
 * A message that cannot be decoded or encoded. `field` is the path by number (`127.25.9F02`), `offset` the byte where the
 * trouble begins, counted from the first byte of the message.
 */
export class Iso8583Error extends TapwireError<Iso8583ErrorCode> {
  readonly field: string;
  readonly offset: number;
  /** Private, so that no logger, inspector or serializer comes upon card data while it walks over the error. */
  #partial: object | undefined;

  constructor(code: Iso8583ErrorCode, field: string, offset: number, detail?: string) {
    const where = code === 'SPEC_INVALID' ? field : `${field} at byte ${offset}`;
    super(code, `field ${where}: ${detail ?? ISO8583_ERRORS[code]}`);
    this.field = field;
    this.offset = offset;
  }

  /** The message as far as it was decoded; undefined for errors of encoding. Holds card data. */
  get partial(): object | undefined {
    return this.#partial;
  }

  /** Keeps what was decoded before the error came up. */
  withPartial(partial: object): this {
    this.#partial = partial;
    return this;
  }
}

/** A request that an endpoint cannot take as it stands: its status, errorCode and, where a field is at fault, JSON pointers. */
export class RequestRefused extends TapwireError {
  readonly status: number;
  readonly errorCode: number;
  readonly detail: string;
  readonly errors: readonly { readonly pointer: string; readonly detail: string }[] | undefined;

  constructor(status: number, errorCode: number, detail: string, errors?: RequestRefused['errors']) {
    super('REQUEST_REFUSED', detail);
    this.status = status;
    this.errorCode = errorCode;
    this.detail = detail;
    this.errors = errors;
  }
}

/** Unknown, or somebody else's: answered alike. */
export class NotFound extends TapwireError {
  constructor() {
    super('NOT_FOUND');
  }
}

/** Why a URL that somebody gave us was not called, or gave no answer. The codes stand in what its owner is shown. */
export type OutboundErrorCode = keyof typeof OUTBOUND_ERRORS;

const OUTBOUND_ERRORS = {
  URL_REFUSED: 'the URL is none that may be called',
  ADDRESS_REFUSED: 'the name leads to an address that is not public',
  NAME_NOT_FOUND: 'the name has no address',
  NAME_LOOKUP_FAILED: 'the address of the name could not be found out',
  CONNECTION_REFUSED: 'nobody listens there',
  CONNECTION_LOST: 'the connection ended before an answer',
  UNREACHABLE: 'the address cannot be reached',
  TLS_FAILED: 'the connection could not be secured, or its certificate is not valid',
  ANSWER_BROKEN: 'the answer is not HTTP',
  TIMEOUT: 'no answer in time',
  CANCELLED: 'we stopped before there was an answer',
} as const;

export class OutboundError extends TapwireError<OutboundErrorCode> {
  constructor(code: OutboundErrorCode, options?: ErrorOptions) {
    super(code, OUTBOUND_ERRORS[code], options);
  }
}
