import { CARD_ERRORS, type TlvErrorCode } from './codec-errors.ts';
import { TapwireError } from './tapwire-error.ts';

/**
 * A tap that must not go online. It is recorded as BadRequestReceived. `pointer` is the JSON pointer of the field at fault,
 * `code` the check that failed. `source` is `card` for what the card or its seal contains, `request` for everything else.
 */
export class TapRefused extends TapwireError<TapRefusalCode> {
  readonly pointer: string;
  readonly source: 'card' | 'request';

  constructor(pointer: string, code: TapRefusalCode, source: 'card' | 'request', options?: ErrorOptions) {
    super(code, `in ${pointer}`, options);
    this.pointer = pointer;
    this.source = source;
  }
}

/** A PIN block that the HSM cannot open for this card. It counts as a wrong PIN, as if the issuer had refused it. */
export class PinUnusable extends TapwireError {
  constructor(options?: ErrorOptions) {
    super('PIN_UNUSABLE', undefined, options);
  }
}

/** The HSM has not responded in time, or is overloaded. */
export class HsmUnavailable extends TapwireError {
  override readonly retryable = true;

  constructor(options?: ErrorOptions) {
    super('HSM_UNAVAILABLE', undefined, options);
  }
}

/** A PIN was submitted for a transaction that is not awaiting one. */
export class PinNotAwaited extends TapwireError {
  constructor() {
    super('PIN_NOT_AWAITED');
  }
}

/** The merchant has used the reference for another transaction. */
export class DuplicateReference extends TapwireError {
  constructor() {
    super('DUPLICATE_REFERENCE');
  }
}

/** The settings have no terminal, profile, reader format or route for the tap. It is recorded as ErrorFindingConfig. */
export class NoConfiguration extends TapwireError<
  'NO_TERMINAL' | 'NO_ROUTE' | 'NO_PROFILE' | 'OUTSIDE_PROFILE' | 'NO_READER'
> {}

/**
 * The database was restored, and the request may repeat one whose record was lost. It is held until an operator has
 * compared the books; nothing is stored of it but its reference.
 */
export class HeldAfterRestore extends TapwireError {
  override readonly retryable = true;

  constructor() {
    super('HELD_AFTER_RESTORE');
  }
}

/** Too many requests are waiting, so a new one would receive its response late. It is rejected before anything is stored. */
export class Overloaded extends TapwireError {
  override readonly retryable = true;
  readonly resource: OverloadedResource;

  constructor(resource: OverloadedResource = 'other') {
    super('OVERLOADED');
    this.resource = resource;
  }
}

/**
 * What has too much to do: the whole process, the writes of the store, every slot of the switch, or something that taps
 * do not use.
 */
export type OverloadedResource = 'gateway' | 'store' | 'switch' | 'other';

/** A limit of `most` requests within `windowSeconds`. */
export interface Quota {
  /** Names the quota in the response. */
  readonly name: string;
  readonly most: number;
  readonly windowSeconds: number;
}

/** A caller has exceeded a quota and may try again after `retryAfterSeconds`. */
export class Throttled extends TapwireError<'TOO_MANY_REQUESTS' | 'TOO_MANY_LOGINS'> {
  override readonly retryable = true;
  readonly quota: Quota;
  readonly retryAfterSeconds: number;

  constructor(quota: Quota, retryAfterSeconds: number, code: Throttled['code'] = 'TOO_MANY_REQUESTS') {
    super(code, quota.name);
    this.quota = quota;
    this.retryAfterSeconds = retryAfterSeconds;
  }
}

/**
 * The database is unavailable for a commit. `mayBeStored` states whether this request may have stored something; it
 * says nothing about an earlier, identical request.
 */
export class StoreUnavailable extends TapwireError {
  override readonly retryable = true;
  readonly mayBeStored: boolean;

  constructor(mayBeStored: boolean, options?: ErrorOptions) {
    super('STORE_UNAVAILABLE', undefined, options);
    this.mayBeStored = mayBeStored;
  }
}

/** Whether a commit that failed with this error has certainly stored nothing. */
export function isUnstored(error: unknown): boolean {
  return error instanceof Overloaded || (error instanceof StoreUnavailable && !error.mayBeStored);
}

/** The database is unavailable for a read, or for a single statement that can safely be repeated. */
export class StoreUnread extends StoreUnavailable {
  constructor(options?: ErrorOptions) {
    super(false, options);
  }
}

/** A request passed its deadline. `waitsForSwitch`: a message to a switch may have been sent for it. */
export class ResponseOverdue extends TapwireError {
  override readonly retryable = true;
  readonly waitsForSwitch: boolean;

  constructor(waitsForSwitch: boolean) {
    super('RESPONSE_OVERDUE');
    this.waitsForSwitch = waitsForSwitch;
  }
}

/** The resource does not exist or belongs to another tenant; callers must not be able to distinguish the two. */
export class NotFound extends TapwireError {
  constructor() {
    super('NOT_FOUND');
  }
}

/**
 * A value that does not fit its column. The code is the SQLSTATE that Postgres would have reported
 * (numeric_value_out_of_range, invalid_text_representation). Only the row with the value fails, not its batch.
 */
export class UnfitValue extends TapwireError<'22003' | '22P02'> {
  constructor(code: '22003' | '22P02', kind: string) {
    super(code, `a value does not fit a column of ${kind}`); // never the value itself: it may be card data
  }
}

/**
 * Why a credential was rejected. A missing or wrong credential must be replaced; `FORBIDDEN` is a valid credential
 * without the permission.
 */
export type AuthErrorCode = 'UNAUTHORISED' | 'API_KEY_INVALID' | 'JWT_INVALID' | 'JWT_EXPIRED' | 'FORBIDDEN';

export class AuthError extends TapwireError<AuthErrorCode> {
  /** The check that failed, for the owner of the credential (`POST /tokens/check`) and for metrics. A response shows only `acquirer`. */
  readonly check: string;

  constructor(code: AuthErrorCode, check: string) {
    super(code);
    this.check = check;
  }
}

/** A valid credential whose user or device may not do this. */
export type ForbiddenCode = 'FORBIDDEN' | 'BLOCKED_USER' | 'BLOCKED_DEVICE';

export class Forbidden extends TapwireError<ForbiddenCode> {}

/** Why the attestation of a device was refused; the app can act on each. */
export type AttestationCode =
  | 'ATTESTATION_MISSING'
  | 'ATTESTATION_INVALID'
  | 'ATTESTATION_EXPIRED'
  | 'DEVICE_UNTRUSTED'
  | 'APP_OUTDATED';

export class AttestationRefused extends TapwireError<AttestationCode> {}

/**
 * Why a sign-in with the identity provider failed. PROVIDER_UNAVAILABLE: no usable response. PROVIDER_REFUSED: it
 * responded with an error. CANCELLED: the person refused, or cannot be signed in there. NOT_BEGUN: this browser has
 * begun no sign-in, or too long ago. INVALID: state, code or token are not those of the sign-in that it began. NO_ROLE:
 * the person has no role in the console. BAD_SUBJECT: the id of the person cannot be recorded.
 */
export type SignInErrorCode =
  | 'PROVIDER_UNAVAILABLE'
  | 'PROVIDER_REFUSED'
  | 'CANCELLED'
  | 'NOT_BEGUN'
  | 'INVALID'
  | 'NO_ROLE'
  | 'BAD_SUBJECT';

export class SignInError extends TapwireError<SignInErrorCode> {
  /** What failed, in the words of the protocol, for the log; never a value of the exchange. */
  readonly check: string | undefined;

  constructor(code: SignInErrorCode, check?: string, options?: ErrorOptions) {
    super(code, undefined, options);
    this.check = check;
  }
}

const MALFORMED = 'is not well-formed BER-TLV, or exceeds a limit';
const TLV_REFUSALS: Readonly<Record<TlvErrorCode, string>> = {
  TAG_TRUNCATED: MALFORMED,
  TAG_TOO_LONG: MALFORMED,
  TAG_INVALID: MALFORMED,
  LENGTH_MISSING: MALFORMED,
  LENGTH_TRUNCATED: MALFORMED,
  LENGTH_TOO_LONG: MALFORMED,
  LENGTH_INDEFINITE: MALFORMED,
  VALUE_TRUNCATED: MALFORMED,
  TOO_DEEP: MALFORMED,
  TOO_MANY_OBJECTS: MALFORMED,
  TOO_LARGE: MALFORMED,
  CONFLICTING_VALUES: 'contains two different values of one tag',
};

/**
 * Why a tap was refused before it was sent, by code. The words say what is wrong with the blob that the error points
 * to; none of them contains a value.
 */
export const TAP_REFUSALS = {
  ...TLV_REFUSALS,
  ...CARD_ERRORS,
  CARD_DATA_UNREADABLE: 'cannot be opened: it is damaged, or was sealed for another key, device or reference',
  AMOUNT_MISSING: 'must contain the amount (9F02) as 12 digits',
  AMOUNT_ZERO: 'must contain an amount (9F02) greater than zero',
  AMOUNT_CONFLICT: 'contains a binary amount (81) that differs from 9F02',
  AMOUNT_NOT_OF_LINK: 'must contain the amount (9F02) and currency (5F2A) of the link',
  AMOUNT_OTHER_UNSUPPORTED: 'contains a cashback amount (9F03 or 9F04), which is not supported',
  CURRENCY_MISSING: 'must contain the numeric code of an ISO 4217 currency (5F2A)',
  CURRENCY_EXPONENT_CONFLICT: 'contains a currency exponent (5F36) that differs from the currency',
  DATE_TOO_OLD: 'contains a date (9A) of more than two years ago: set the clock of the reader',
  TEXT_MALFORMED: 'contains a text that is too long or not printable ASCII',
  TRANSACTION_TYPE_MISSING: 'must contain the transaction type (9C)',
  TRANSACTION_TYPE_UNSUPPORTED: 'must contain the transaction type 00 (9C), a purchase',
  ARQC_MISSING: 'announces an ARQC (9F27) but does not contain it (9F26)',
  VALUE_MALFORMED: 'contains a value that does not fit the message to the switch',
  OTHER_TAP: 'must belong to the tap for which the PIN was requested',
  PIN_MALFORMED: 'contains a PIN block or KSN of the wrong length',
  PIN_NOT_TAKEN: 'contains a PIN, which the terminal or the switch does not accept',
  PIN_REPEATED: 'contains a PIN block that was submitted before',
  PIN_UNEXPECTED: 'contains a PIN, but the CVM results (9F34) announce none',
} as const;

export type TapRefusalCode = keyof typeof TAP_REFUSALS;
