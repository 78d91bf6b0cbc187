import type { TapRefusalCode } from './tap-refusals.ts';
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

/** Too many requests are waiting, so a new one would be answered late. It is rejected before anything is stored. */
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

/** At most `most` requests within `windowSeconds`. */
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
export class AnswerOverdue extends TapwireError {
  override readonly retryable = true;
  readonly waitsForSwitch: boolean;

  constructor(waitsForSwitch: boolean) {
    super('ANSWER_OVERDUE');
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
