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
  readonly tag: number | undefined;

  constructor(code: TlvErrorCode, offset: number, tag?: number) {
    super(`${code} at byte ${offset}${tag === undefined ? '' : ` (tag ${tag.toString(16).toUpperCase()})`}`);
    this.code = code;
    this.offset = offset;
    this.tag = tag;
  }
}
