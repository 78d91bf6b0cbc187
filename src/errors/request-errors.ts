import { TapwireError } from './tapwire-error.ts';

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

/** The HSM has not translated a PIN in time, or has too much to do. Nothing was sent. */
export class HsmUnavailable extends TapwireError {
  override readonly retryable = true;

  constructor(options?: ErrorOptions) {
    super('HSM_UNAVAILABLE', undefined, options);
  }
}

/** A PIN for a transaction that waits for none, or no more: 409. */
export class PinNotAwaited extends TapwireError {
  constructor() {
    super('PIN_NOT_AWAITED');
  }
}

/** The merchant has used this reference for something else: 409, errorCode 124. */
export class DuplicateReference extends TapwireError {
  constructor() {
    super('DUPLICATE_REFERENCE');
  }
}

/** No terminal, profile or route fits the tap: recorded as ErrorFindingConfig and answered 500, errorCode 208. */
export class NoConfiguration extends TapwireError<'NO_TERMINAL' | 'NO_ROUTE' | 'NO_PROFILE' | 'OUTSIDE_PROFILE'> {}

/** So much waits already that a new tap would be answered late: refused before anything is stored, 503. */
export class Overloaded extends TapwireError {
  override readonly retryable = true;

  constructor() {
    super('OVERLOADED');
  }
}

/** So many within so many seconds. */
export interface Quota {
  /** Which of our quotas it is. */
  readonly name: string;
  readonly most: number;
  readonly windowSeconds: number;
}

/** More than a quota allows: 429, to be repeated after so many seconds; errorCode 132 for logins. */
export class Throttled extends TapwireError {
  override readonly retryable = true;
  readonly quota: Quota;
  readonly retryAfterSeconds: number;
  readonly errorCode: 132 | 203;

  constructor(quota: Quota, retryAfterSeconds: number, errorCode: 132 | 203 = 203) {
    super('THROTTLED', quota.name);
    this.quota = quota;
    this.retryAfterSeconds = retryAfterSeconds;
    this.errorCode = errorCode;
  }
}

/**
 * The database did not take, or may not have taken, a commit: 503 when this request stored nothing, 500 when it may have.
 * Neither says anything of an earlier request for the same.
 */
export class StoreUnavailable extends TapwireError {
  override readonly retryable = true;
  readonly mayBeStored: boolean;

  constructor(mayBeStored: boolean, options?: ErrorOptions) {
    super('STORE_UNAVAILABLE', undefined, options);
    this.mayBeStored = mayBeStored;
  }
}

/** The database could not be read, or not be written in a single statement whose repetition changes nothing: 503. */
export class StoreUnread extends StoreUnavailable {
  constructor(options?: ErrorOptions) {
    super(false, options);
  }
}

/** A request has waited for longer than it may: 500 where the outcome of a switch is behind it, 503 otherwise. */
export class AnswerOverdue extends TapwireError {
  override readonly retryable = true;
  readonly waitsForSwitch: boolean;

  constructor(waitsForSwitch: boolean) {
    super('ANSWER_OVERDUE');
    this.waitsForSwitch = waitsForSwitch;
  }
}

/** A request that an endpoint cannot take as it stands: its status, errorCode and, where a field is at fault, JSON pointers. */
export class RequestRefused extends TapwireError {
  readonly status: number;
  readonly errorCode: number;
  readonly detail: string;
  readonly errors: readonly { readonly pointer: string; readonly detail: string }[] | undefined;
  /** Headers that the response needs, by their names in lower case. */
  readonly headers: Readonly<Record<string, string>> | undefined;

  constructor(
    status: number,
    errorCode: number,
    detail: string,
    errors?: RequestRefused['errors'],
    headers?: RequestRefused['headers'],
  ) {
    super('REQUEST_REFUSED', detail);
    this.status = status;
    this.errorCode = errorCode;
    this.detail = detail;
    this.errors = errors;
    this.headers = headers;
  }
}

/** Unknown, or somebody else's: answered alike. */
export class NotFound extends TapwireError {
  constructor() {
    super('NOT_FOUND');
  }
}

/**
 * A value that does not fit its column: the fault of one row, with the SQLSTATE by which Postgres would have told it
 * (numeric_value_out_of_range, invalid_text_representation), so that its batch can go without it.
 */
export class UnfitValue extends TapwireError<'22003' | '22P02'> {
  constructor(code: '22003' | '22P02', kind: string) {
    super(code, `a value does not fit a column of ${kind}`); // which value is nobody's business in a log
  }
}
