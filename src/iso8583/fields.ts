/**
 * Rows of a spec. A row is plain data: what the value consists of, how it lies in bytes, how its length is told, how it
 * is filled up. The four are independent, so there is one constructor per kind of content and none per combination.
 */
import type { Content } from './content.ts';
import type { Padding } from './padding.ts';
import type {
  BinaryEncoding,
  BinaryField,
  BitmappedField,
  FieldTable,
  LengthUnit,
  Prefix,
  TextEncoding,
  TextField,
} from './spec.ts';

interface RowOptions<Name extends string> {
  readonly name: Name;
  readonly title?: string;
  readonly safe?: boolean;
  readonly prefix?: Prefix;
  readonly unit?: LengthUnit;
}

interface TextOptions<Name extends string> extends RowOptions<Name> {
  /** Length in characters; the most there may be when there is a prefix. */
  readonly characters: number;
  /** The fewest characters of a field with a prefix; 0 when absent. */
  readonly minCharacters?: number;
  readonly encoding?: TextEncoding;
  readonly pad?: Padding;
}

interface DigitOptions<Name extends string> extends RowOptions<Name> {
  /** Length in digits; the most there may be when there is a prefix. */
  readonly digits: number;
  /** The fewest digits of a field with a prefix; 0 when absent. */
  readonly minDigits?: number;
  readonly encoding?: TextEncoding;
  readonly pad?: Padding;
  readonly fill?: '0' | 'F';
}

interface BinaryOptions<Name extends string> extends RowOptions<Name> {
  /** Length in bytes; the most there may be when there is a prefix. */
  readonly bytes: number;
  readonly minBytes?: number;
  readonly encoding?: BinaryEncoding;
}

/** n: digits, as text: leading zeros count. */
export function numeric<const Name extends string>(options: DigitOptions<Name>): TextField<Name> {
  return digitField('n', options);
}

/** z: track 2, at most 37 characters, `D` or `=` between PAN and expiry; packed, an odd count is filled up with `F`. */
export function track2<const Name extends string>(
  options: Omit<DigitOptions<Name>, 'digits'> & { digits?: number },
): TextField<Name> {
  return digitField('z', { fill: 'F', ...options, digits: options.digits ?? 37 });
}

/** x+n: `C` or `D` and digits; `digits` counts the digits alone. */
export function signedAmount<const Name extends string>({ digits, ...rest }: DigitOptions<Name>): TextField<Name> {
  return digitField('x+n', { ...rest, digits: digits + 1 });
}

/** a: letters. */
export function alpha<const Name extends string>(options: TextOptions<Name>): TextField<Name> {
  return textField('a', options);
}

/** an: letters and digits. */
export function alphanumeric<const Name extends string>(options: TextOptions<Name>): TextField<Name> {
  return textField('an', options);
}

/** Text of any content, `ans` when nothing is said. */
export function text<const Name extends string>(
  options: TextOptions<Name> & { readonly content?: Content },
): TextField<Name> {
  const { content = 'ans', ...rest } = options;
  return textField(content, rest);
}

/** b: bytes. */
export function binary<const Name extends string>(options: BinaryOptions<Name>): BinaryField<Name> {
  const { bytes, minBytes, ...rest } = options;
  return { ...rest, kind: 'binary', ...sizes(bytes, minBytes, options.prefix) };
}

/** Subfields by number behind a bitmap of their own, as DE127 of PostBridge has it. */
export function bitmapped<const Name extends string, const Fields extends FieldTable>(
  options: Omit<RowOptions<Name>, 'unit'> & {
    readonly bytes: number;
    readonly bitmap: BitmappedField['bitmap'];
    readonly fields: Fields;
  },
): BitmappedField<Name, Fields> {
  const { bytes, ...rest } = options;
  return { ...rest, kind: 'bitmapped', ...sizes(bytes, undefined, options.prefix) };
}

function digitField<Name extends string>(content: Content, options: DigitOptions<Name>): TextField<Name> {
  const { digits, minDigits, ...rest } = options;
  return { ...rest, kind: 'text', content, ...sizes(digits, minDigits, options.prefix) };
}

function textField<Name extends string>(content: Content, options: TextOptions<Name>): TextField<Name> {
  const { characters, minCharacters, ...rest } = options;
  return { ...rest, kind: 'text', content, ...sizes(characters, minCharacters, options.prefix) };
}

/** A value without a prefix has one length. */
function sizes(max: number, min: number | undefined, prefix: Prefix | undefined): { min: number; max: number } {
  return { min: prefix === undefined ? max : (min ?? 0), max };
}
