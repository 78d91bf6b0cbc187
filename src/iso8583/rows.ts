import type { Content } from './content.ts';
import type { EbcdicPage } from './encodings/ebcdic.ts';
import type { Padding } from './padding.ts';

/** How characters lie in bytes. `bcd` pads an odd count of digits on the left, `bcd-right` on the right. */
export type TextEncoding = 'ascii' | EbcdicPage | 'bcd' | 'bcd-right' | 'x+bcd';

/** How bytes lie in bytes: as they are, or as hex digits in ASCII or EBCDIC. Both cases of hex are read. */
export type BinaryEncoding = 'binary' | 'hex' | 'hex-lower' | 'ebcdic-hex';

/** How the digits of a length are written. `hex`: in base 16, as ASCII digits. */
export type PrefixEncoding = 'ascii' | 'bcd' | 'ebcdic' | 'binary' | 'hex';

/**
 * The length in front of a value of variable length: its digits as `LL`, or with an encoding of its own. `binary`
 * lengths are big-endian numbers of that many bytes.
 */
export type Prefix =
  | 'L'
  | 'LL'
  | 'LLL'
  | 'LLLL'
  | 'LLLLL'
  | 'LLLLLL'
  | { readonly digits: number; readonly encoding: Exclude<PrefixEncoding, 'binary'> }
  | { readonly bytes: number; readonly encoding: 'binary' };

/** What a length counts: bytes of the packed value, or its half bytes (digits and nibbles are two words for these). */
export type LengthUnit = 'bytes' | 'digits' | 'nibbles';

interface Row<Name extends string> {
  /** What code calls the field: `message.amount`. */
  readonly name: Name;
  /** What people call it, when the name does not say it all. */
  readonly title?: string | undefined;
  /** True when `describe` may show the value. Everything else is masked. */
  readonly safe?: boolean | undefined;
  /** The EMV tag whose value it carries outside of TLV, as subfields of 127.25 do: its bits are explained by it. */
  readonly emvTag?: number | undefined;
}

interface Sized {
  /** Shortest value; for a field without prefix equal to `max`. Characters of text, bytes of anything else. */
  readonly min: number;
  readonly max: number;
  readonly prefix?: Prefix | undefined;
}

export interface TextField<Name extends string = string> extends Row<Name>, Sized {
  readonly kind: 'text';
  readonly content: Content;
  readonly encoding?: TextEncoding | undefined;
  readonly unit?: LengthUnit | undefined;
  readonly pad?: Padding | undefined;
  /** The half byte that fills up an odd count of packed digits; `F` for track 2, otherwise `0`. */
  readonly fill?: '0' | 'F' | undefined;
}

export interface BinaryField<Name extends string = string> extends Row<Name>, Sized {
  readonly kind: 'binary';
  readonly encoding?: BinaryEncoding | undefined;
  readonly unit?: LengthUnit | undefined;
}

/** BER-TLV. The value is the bytes, checked; `src/emv` reads them. */
export interface TlvField<Name extends string = string> extends Row<Name>, Sized {
  readonly kind: 'tlv';
  /** The tags that may stand there, at any depth; every tag when absent. */
  readonly allow?: readonly number[] | undefined;
  /** `opaque` keeps a template that is no TLV inside, as issuer scripts need; `refuse` is the default. */
  readonly onBadChild?: 'refuse' | 'opaque' | undefined;
}

/** Subfields one behind the other. Those at the end may be absent when the length is told. */
export interface PositionalField<Name extends string = string, Fields extends readonly Field[] = readonly Field[]>
  extends Row<Name>,
    Sized {
  readonly kind: 'positional';
  readonly fields: Fields;
}

/** How a tag in front of an element is written; `length` counts characters, digits or bytes of it. */
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
  /** The length in front of every element, those of unknown tags included; their fields name no prefix. */
  readonly elementPrefix: Prefix;
  /** Whether elements with a tag that `fields` lacks are refused (default) or kept in `others`. */
  readonly unknown?: 'refuse' | 'keep' | undefined;
  readonly fields: Fields;
}

/** A dataset of ISO 8583:2003 (4.5) with a bitmap: elements by number, and TLV behind them when bit 16 says so. */
export interface DatasetField<Name extends string = string, Fields extends FieldTable = FieldTable>
  extends Row<Name>,
    Sized {
  readonly kind: 'dataset';
  readonly fields: Fields;
}

/**
 * An element of a tagged composite that has no place under a name: its tag is unknown, or was there before. `at` is its
 * place among all elements, from 0.
 */
export interface OtherElement {
  readonly at: number;
  readonly tag: string;
  /** Bytes for an unknown tag, otherwise what the field of that tag gives. */
  readonly value: unknown;
}

/** Subfields by number, present as a bitmap of their own says. */
export interface BitmappedField<Name extends string = string, Fields extends FieldTable = FieldTable>
  extends Row<Name>,
    Sized {
  readonly kind: 'bitmapped';
  readonly bitmap: { readonly bytes: number; readonly encoding?: BinaryEncoding | undefined };
  readonly fields: Fields;
}

/** What a value is: text, bytes, or a record of other values. */
export type Field = TextField | BinaryField | TlvField | PositionalField | TaggedField | BitmappedField | DatasetField;

/** Fields by their number. */
export type FieldTable = { readonly [number: number]: Field };

/** Fields by their tag. */
export type TagTable = { readonly [tag: string]: Field };

/** Subfields by the keys that paths use: numbers, tags, positions from 1. */
export function subfieldsOf(field: Field): Readonly<Record<string, Field>> {
  if (field.kind === 'positional') return Object.fromEntries(field.fields.map((row, index) => [index + 1, row]));
  return 'fields' in field ? field.fields : {};
}
