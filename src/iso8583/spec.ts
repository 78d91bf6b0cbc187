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

/** Subfields by number, present as a bitmap of their own says. */
export interface BitmappedField<Name extends string = string, Fields extends FieldTable = FieldTable>
  extends Row<Name>,
    Sized {
  readonly kind: 'bitmapped';
  readonly bitmap: { readonly bytes: number; readonly encoding?: BinaryEncoding | undefined };
  readonly fields: Fields;
}

// biome-ignore lint/suspicious/noExplicitAny: a composite holds fields of any names, itself included
export type Field = TextField<any> | BinaryField<any> | BitmappedField<any, any>;

/** Fields by their number. */
export type FieldTable = { readonly [number: number]: Field };

/** Encodings of fields that do not name their own. */
export interface Encodings {
  /** a, an, ans … */
  readonly text: TextEncoding;
  /** n and z. */
  readonly digits: TextEncoding;
  /** x+n. */
  readonly signed: TextEncoding;
  readonly binary: BinaryEncoding;
  readonly prefix: PrefixEncoding;
}

export interface BitmapLayout {
  readonly encoding: BinaryEncoding;
  /**
   * Bitmaps of 8 bytes: `chained` (default) announces the next by its first bit, as the standard does; `fixed` writes
   * `blocks` of them always, and no bit announces anything.
   */
  readonly form?: 'chained' | 'fixed' | undefined;
  /** `chained`: how many are written at least (default 1); `fixed`: how many there are. At most 3. */
  readonly blocks?: number | undefined;
}

export interface Spec<Fields extends FieldTable = FieldTable> {
  readonly name: string;
  /** Bytes in front of the MTI that belong to the message; `message.header`. */
  readonly headerBytes?: number | undefined;
  readonly mti: { readonly encoding: TextEncoding };
  readonly bitmap: BitmapLayout;
  readonly encodings: Encodings;
  readonly fields: Fields;
}

export type SpecDefinition<Fields extends FieldTable> = Omit<Spec<Fields>, 'encodings'> & {
  readonly encodings?: Partial<Encodings>;
};

const ASCII_ENCODINGS: Encodings = {
  text: 'ascii',
  digits: 'ascii',
  signed: 'ascii',
  binary: 'binary',
  prefix: 'ascii',
};

/** A spec, with the names of its fields kept for the types of its messages. Encodings default to ASCII and binary. */
export function defineSpec<const Fields extends FieldTable>(definition: SpecDefinition<Fields>): Spec<Fields> {
  return { ...definition, encodings: { ...ASCII_ENCODINGS, ...definition.encodings } };
}

type ValueOf<F> = F extends { readonly kind: 'text' }
  ? string
  : F extends { readonly kind: 'binary' }
    ? Uint8Array
    : F extends { readonly kind: 'bitmapped'; readonly fields: infer Fields }
      ? RecordOf<Fields>
      : never;

type NameOf<F> = F extends { readonly name: infer Name extends string } ? Name : never;

type RecordOf<Fields> = { [K in keyof Fields as NameOf<Fields[K]>]?: ValueOf<Fields[K]> | undefined };

/** The messages of a spec: text for text fields, bytes for binary ones, objects for composites, by name. */
export type MessageOf<S> =
  S extends Spec<infer Fields> ? { mti: string; header?: Uint8Array | undefined } & RecordOf<Fields> : never;
