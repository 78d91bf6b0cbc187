/**
 * Rows of a spec. A row is plain data: the content of the value, its encoding, its length and its padding. The four
 * are independent, so there is one constructor per kind of content and none per combination.
 */
import type {
  BinaryEncoding,
  BinaryField,
  BitmappedField,
  Content,
  DatasetField,
  Ending,
  Field,
  FieldTable,
  LengthUnit,
  Padding,
  PositionalField,
  Prefix,
  TaggedField,
  TagTable,
  TextEncoding,
  TextField,
  TlvField,
} from './rows.ts';

interface RowOptions<Name extends string> {
  readonly name: Name;
  readonly title?: string;
  readonly safe?: boolean;
  readonly emvTag?: number;
  readonly prefix?: Prefix;
  /** Where the value ends, in place of a prefix. */
  readonly end?: Ending;
}

interface TextOptions<Name extends string> extends RowOptions<Name> {
  /** Length in characters; the maximum if there is a prefix. */
  readonly characters: number;
  /** Minimum characters; by default 0 with a prefix, otherwise equal to `characters`. */
  readonly minCharacters?: number;
  readonly unit?: LengthUnit;
  readonly encoding?: TextEncoding;
  readonly pad?: Padding;
}

interface DigitOptions<Name extends string> extends RowOptions<Name> {
  /** Length in digits; the maximum if there is a prefix. */
  readonly digits: number;
  readonly minDigits?: number;
  readonly unit?: LengthUnit;
  readonly encoding?: TextEncoding;
  readonly pad?: Padding;
  readonly fill?: '0' | 'F';
}

interface CompositeOptions<Name extends string> extends RowOptions<Name> {
  /** Length in bytes; the maximum if there is a prefix. */
  readonly bytes: number;
  readonly minBytes?: number;
}

/** n: digits, as text, because leading zeros count. */
export function numeric<const Name extends string>(options: DigitOptions<Name>): TextField<Name> {
  return digitField('n', options);
}

/** z: track 2, at most 37 characters, `D` or `=` between PAN and expiry; packed, an odd number is padded with `F`. */
export function track2<const Name extends string>(
  options: Omit<DigitOptions<Name>, 'digits'> & { readonly digits?: number },
): TextField<Name> {
  return digitField('z', { ...options, digits: options.digits ?? 37 });
}

/** x+n: `C` or `D`, or with `signs` `+` or `-`, and digits; `digits` counts the digits alone. */
export function signedAmount<const Name extends string>(
  options: DigitOptions<Name> & { readonly signs?: 'CD' | '+-' },
): TextField<Name> {
  const { signs = 'CD', digits, minDigits, ...rest } = options;
  const sizes = { digits: digits + 1, ...(minDigits === undefined ? {} : { minDigits: minDigits + 1 }) };
  return digitField(signs === 'CD' ? 'x+n' : '+n', { ...rest, ...sizes });
}

/** a: letters. */
export function alpha<const Name extends string>(options: TextOptions<Name>): TextField<Name> {
  return textField('a', options);
}

/** an: letters and digits. */
export function alphanumeric<const Name extends string>(options: TextOptions<Name>): TextField<Name> {
  return textField('an', options);
}

/** Text of any content, `ans` by default. */
export function text<const Name extends string>(
  options: TextOptions<Name> & { readonly content?: Content },
): TextField<Name> {
  const { content = 'ans', ...rest } = options;
  return textField(content, rest);
}

/** b: bytes. */
export function binary<const Name extends string>(
  options: CompositeOptions<Name> & { readonly unit?: LengthUnit; readonly encoding?: BinaryEncoding },
): BinaryField<Name> {
  return { kind: 'binary', ...sized(options) };
}

/** BER-TLV, as in DE55: the value is its bytes, which are checked to be TLV. */
export function tlv<const Name extends string>(
  options: CompositeOptions<Name> & Pick<TlvField, 'allow' | 'onBadChild' | 'encoding'>,
): TlvField<Name> {
  return { kind: 'tlv', ...sized(options) };
}

/** Consecutive subfields. With a prefix, those at the end may be absent. `separator`: a byte between each two values. */
export function positional<const Name extends string, const Fields extends readonly Field[]>(
  options: CompositeOptions<Name> & Pick<PositionalField, 'separator'> & { readonly fields: Fields },
): PositionalField<Name, Fields> {
  return { kind: 'positional', ...sized(options) };
}

/** Elements that each begin with a tag and a length. */
export function tagged<const Name extends string, const Fields extends TagTable>(
  options: CompositeOptions<Name> &
    Pick<TaggedField, 'tag' | 'elementPrefix' | 'first' | 'lengthCounts' | 'unknown'> & { readonly fields: Fields },
): TaggedField<Name, Fields> {
  return { kind: 'tagged', ...sized(options) };
}

/** Subfields by number after a bitmap of their own, as in DE127 of PostBridge. */
export function bitmapped<const Name extends string, const Fields extends FieldTable>(
  options: CompositeOptions<Name> & { readonly bitmap: BitmappedField['bitmap']; readonly fields: Fields },
): BitmappedField<Name, Fields> {
  return { kind: 'bitmapped', ...sized(options) };
}

/** Datasets of ISO 8583:2003 and later: identifier of one byte, length of two, `dataset` or `tlv` as content. */
export function datasets<const Name extends string, const Fields extends TagTable>(
  options: CompositeOptions<Name> & Pick<TaggedField, 'unknown'> & { readonly fields: Fields },
): TaggedField<Name, Fields> {
  return tagged({
    ...options,
    tag: { encoding: 'binary', length: 1 },
    elementPrefix: { encoding: 'binary', bytes: 2 },
  });
}

/** A dataset with a bitmap, inside `datasets`. */
export function dataset<const Name extends string, const Fields extends FieldTable>(
  options: CompositeOptions<Name> & { readonly fields: Fields },
): DatasetField<Name, Fields> {
  return { kind: 'dataset', ...sized(options) };
}

function digitField<Name extends string>(content: Content, options: DigitOptions<Name>): TextField<Name> {
  const { digits, minDigits, ...rest } = options;
  return { ...rest, kind: 'text', content, ...sizes(digits, minDigits, options) };
}

function textField<Name extends string>(content: Content, options: TextOptions<Name>): TextField<Name> {
  const { characters, minCharacters, ...rest } = options;
  return { ...rest, kind: 'text', content, ...sizes(characters, minCharacters, options) };
}

type Sizes = { readonly min: number; readonly max: number };

function sized<Options extends CompositeOptions<string>>(
  options: Options,
): Omit<Options, 'bytes' | 'minBytes'> & Sizes {
  const { bytes, minBytes, ...rest } = options;
  return { ...rest, ...sizes(bytes, minBytes, options) };
}

/** A value without prefix and end has one length, unless the composite that contains it determines the length. */
function sizes(
  max: number,
  min: number | undefined,
  { prefix, end }: Pick<RowOptions<string>, 'prefix' | 'end'>,
): Sizes {
  if (end === 'rest') return { min: min ?? 1, max };
  return { min: min ?? (prefix === undefined && end === undefined ? max : 0), max };
}
