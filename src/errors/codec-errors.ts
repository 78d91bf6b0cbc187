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
  /** The tag read there. Not in the message: behind a wrong length it can be three bytes of a PAN. */
  readonly tag: number | undefined;

  constructor(code: TlvErrorCode, offset: number, tag?: number) {
    super(code, `at byte ${offset}`);
    this.offset = offset;
    this.tag = tag;
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

/** Why text is no amount of money. */
export type MoneyErrorCode = 'UNKNOWN_CURRENCY' | 'NOT_AN_AMOUNT' | 'TOO_MANY_DECIMALS' | 'AMOUNT_TOO_LARGE';

export class MoneyError extends TapwireError<MoneyErrorCode> {}
