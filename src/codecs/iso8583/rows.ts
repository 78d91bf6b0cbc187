import { ANYTHING, DIGIT, EQUALS, LETTER_D, LOWER, SPACE, SPECIAL, UPPER } from '../bytes/text-run.ts';
import type { EbcdicPage } from './encodings/ebcdic.ts';

/** The byte encoding of characters. `bcd` pads an odd number of digits on the left, `bcd-right` on the right. */
export type TextEncoding = 'ascii' | EbcdicPage | 'bcd' | 'bcd-right' | 'x+bcd';

/** The encoding of bytes: unchanged, or as hex digits in ASCII or EBCDIC. Decoding accepts both cases of hex. */
export type BinaryEncoding = 'binary' | 'hex' | 'hex-lower' | 'ebcdic-hex';

/** How the digits of a length are written. `hex`: in base 16, as ASCII digits. */
export type PrefixEncoding = 'ascii' | 'bcd' | 'ebcdic' | 'binary' | 'hex';

/**
 * The length prefix of a value of variable length: its digits as `LL`, or with an encoding of its own. `binary`
 * lengths are big-endian numbers of that many bytes, `binary-le` little-endian ones.
 */
export type Prefix =
  | 'L'
  | 'LL'
  | 'LLL'
  | 'LLLL'
  | 'LLLLL'
  | 'LLLLLL'
  | { readonly digits: number; readonly encoding: Exclude<PrefixEncoding, 'binary'> }
  | { readonly bytes: number; readonly encoding: 'binary' | 'binary-le' };

/**
 * Where a value of variable length ends that has no length prefix:
 *
 * - `rest`: with the composite that contains it. Only the last row of a positional composite can.
 * - `until`: before this byte, which follows each value and cannot be part of one.
 * - `lengthOffset`: the byte at this offset of the value is the length of the whole value.
 */
export type Ending = 'rest' | { readonly until: number } | { readonly lengthOffset: number };

/** What a length counts: bytes of the packed value, or its half bytes (digits and nibbles are synonyms here). */
export type LengthUnit = 'bytes' | 'digits' | 'nibbles';

interface Row<Name extends string> {
  /** The name of the field in code: `message.amount`. */
  readonly name: Name;
  /** The name for people, if `name` is not enough. */
  readonly title?: string | undefined;
  /** True if `describe` may show the value. Every other value is masked. */
  readonly safe?: boolean | undefined;
  /** The EMV tag whose value the field carries outside of TLV, as subfields of 127.25 do. The tag explains its bits. */
  readonly emvTag?: number | undefined;
}

interface Sized {
  /** Shortest value; for a field without prefix equal to `max`. Characters of text, bytes of anything else. */
  readonly min: number;
  readonly max: number;
  readonly prefix?: Prefix | undefined;
  /** Where the value ends, in place of a prefix. */
  readonly end?: Ending | undefined;
}

export interface TextField<Name extends string = string> extends Row<Name>, Sized {
  readonly kind: 'text';
  readonly content: Content;
  readonly encoding?: TextEncoding | undefined;
  readonly unit?: LengthUnit | undefined;
  readonly pad?: Padding | undefined;
  /** The half byte that pads an odd number of packed digits; `F` for track 2, otherwise `0`. */
  readonly fill?: '0' | 'F' | undefined;
}

export interface BinaryField<Name extends string = string> extends Row<Name>, Sized {
  readonly kind: 'binary';
  readonly encoding?: BinaryEncoding | undefined;
  readonly unit?: LengthUnit | undefined;
}

/** BER-TLV. The value is the checked bytes; `src/codecs/emv` reads them. */
export interface TlvField<Name extends string = string> extends Row<Name>, Sized {
  readonly kind: 'tlv';
  /** `binary` by default. The lengths of the field count encoded bytes: two for each byte of TLV in hex. */
  readonly encoding?: BinaryEncoding | undefined;
  /** The allowed tags, at any depth; every tag if absent. */
  readonly allow?: readonly number[] | undefined;
  /** `opaque` keeps a template whose content is not TLV, as issuer scripts need; `refuse` is the default. */
  readonly onBadChild?: 'refuse' | 'opaque' | undefined;
}

/**
 * Consecutive subfields. Those at the end may be absent if the length is variable. A `separator` is a byte between each
 * two values; the subfields then need no lengths.
 */
export interface PositionalField<Name extends string = string, Fields extends readonly Field[] = readonly Field[]>
  extends Row<Name>,
    Sized {
  readonly kind: 'positional';
  readonly separator?: number | undefined;
  readonly fields: Fields;
}

/** The form of an element's tag; `length` counts its characters, digits or bytes. */
export interface TagForm {
  readonly encoding: 'ascii' | 'ebcdic' | 'bcd' | 'binary';
  readonly length: number;
}

/** Elements that each begin with a tag and a length, in any order. Tags of `binary` are keys in upper-case hex. */
export interface TaggedField<Name extends string = string, Fields extends TagTable = TagTable>
  extends Row<Name>,
    Sized {
  readonly kind: 'tagged';
  readonly tag: TagForm;
  /** The length prefix of every element, including unknown tags; the fields of the elements have no prefix. */
  readonly elementPrefix: Prefix;
  /** Whether the tag (default) or the length is first. */
  readonly first?: 'tag' | 'length' | undefined;
  /** What the length counts besides the value: nothing by default. */
  readonly lengthCounts?: readonly ('tag' | 'length')[] | undefined;
  /** Whether elements with a tag that `fields` lacks are refused (default) or kept in `others`. */
  readonly unknown?: 'refuse' | 'keep' | undefined;
  readonly fields: Fields;
}

/** A dataset of ISO 8583:2003 (4.5) with a bitmap: elements by number, followed by TLV if bit 16 is set. */
export interface DatasetField<Name extends string = string, Fields extends FieldTable = FieldTable>
  extends Row<Name>,
    Sized {
  readonly kind: 'dataset';
  readonly fields: Fields;
}

/**
 * An element of a tagged composite without a name of its own: its tag is unknown or repeated. `at` is its position
 * among all elements, from 0.
 */
export interface OtherElement {
  readonly at: number;
  readonly tag: string;
  /** Bytes for an unknown tag, otherwise the decoded value of that tag's field. */
  readonly value: unknown;
}

/** Subfields by number, whose presence a bitmap of their own records. */
export interface BitmappedField<Name extends string = string, Fields extends FieldTable = FieldTable>
  extends Row<Name>,
    Sized {
  readonly kind: 'bitmapped';
  readonly bitmap: {
    /** All bytes of it; if it is `chained`, the most. */
    readonly bytes: number;
    readonly encoding?: BinaryEncoding | undefined;
    /**
     * `fixed` (default): always all bytes, and no bit announces anything. `chained`: parts of 8 bytes, each but the last
     * possible one with a first bit that announces the next, as in a message.
     */
    readonly form?: 'fixed' | 'chained' | undefined;
  };
  readonly fields: Fields;
}

/** The kind of a value: text, bytes, or a record of other values. */
export type Field = TextField | BinaryField | TlvField | PositionalField | TaggedField | BitmappedField | DatasetField;

/** Fields, keyed by number. */
export type FieldTable = { readonly [number: number]: Field };

/** Fields, keyed by tag. */
export type TagTable = { readonly [tag: string]: Field };

/** Subfields by the keys that paths use: numbers, tags, positions from 1. */
export function subfieldsOf(field: Field): Readonly<Record<string, Field>> {
  if (field.kind === 'positional') return Object.fromEntries(field.fields.map((row, index) => [index + 1, row]));
  return 'fields' in field ? field.fields : {};
}

/**
 * The allowed characters of a text, in the letters of ISO 8583:1987 4.3: n digits, a letters, s special characters,
 * p the pad character (a space), z the characters of tracks, `x+n` a sign (C credit, D debit) and digits, `+n` the
 * signs + and - instead. `any` is every character of ISO 8859-1, for fields that dialects use freely.
 */
export type Content = 'n' | 'a' | 'an' | 'anp' | 'ns' | 'as' | 'ans' | 'z' | 'x+n' | '+n' | 'any';

const LETTERS = UPPER | LOWER | LETTER_D;
const SIGNS = SPECIAL | EQUALS | SPACE;

/** The kinds of characters that each content allows (`text-run.ts`). */
export const KINDS_OF_CONTENT: Readonly<Record<Content, number>> = {
  n: DIGIT,
  a: LETTERS,
  an: LETTERS | DIGIT,
  anp: LETTERS | DIGIT | SPACE,
  ns: DIGIT | SIGNS,
  as: LETTERS | SIGNS,
  ans: LETTERS | DIGIT | SIGNS,
  z: DIGIT | LETTER_D | EQUALS,
  // The sign is checked separately; letters are only admitted here.
  'x+n': LETTERS | DIGIT,
  '+n': SIGNS | DIGIT,
  any: ANYTHING,
};

/** The codes of the signs that a signed number begins with; undefined for any other content. */
export function signsOf(content: Content): readonly number[] | undefined {
  if (content === 'x+n') return CREDIT_DEBIT;
  return content === '+n' ? PLUS_MINUS : undefined;
}

const CREDIT_DEBIT = Array.from('CD', (sign) => sign.charCodeAt(0));
const PLUS_MINUS = Array.from('+-', (sign) => sign.charCodeAt(0));

/** How a value shorter than its fixed length is padded. */
export interface Padding {
  readonly side: 'left' | 'right';
  /** One character. */
  readonly with: string;
  /** True if decoding removes the padding. Otherwise the value includes it. */
  readonly strip?: boolean;
}

/** `1` in six digits is `000001`, which is also the decoded value. */
export const ZEROS_LEFT: Padding = { side: 'left', with: '0' };
/** `ACME` in eight characters is `ACME    `, which is also the decoded value. */
export const SPACES_RIGHT: Padding = { side: 'right', with: ' ' };
export const SPACES_LEFT: Padding = { side: 'left', with: ' ' };

export function padTo(value: string, length: number, padding: Padding): string {
  return padding.side === 'left' ? value.padStart(length, padding.with) : value.padEnd(length, padding.with);
}

/** Removes every pad character on its side; a value of pad characters only becomes empty. */
export function stripPadding(value: string, padding: Padding): string {
  const pad = padding.with.charCodeAt(0);
  let from = 0;
  let to = value.length;
  if (padding.side === 'left') while (from < to && value.charCodeAt(from) === pad) from++;
  else while (to > from && value.charCodeAt(to - 1) === pad) to--;
  return value.substring(from, to);
}
