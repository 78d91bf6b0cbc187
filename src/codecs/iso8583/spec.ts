import type { BinaryEncoding, Field, FieldTable, OtherElement, PrefixEncoding, TextEncoding } from './rows.ts';
import type { MessageRule } from './rules.ts';

export type { Field, FieldTable } from './rows.ts';

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
   * Bitmaps of 8 bytes: `chained` (default) announces the next one in its first bit, as the standard does; `fixed`
   * always writes `blocks` of them, and no bit announces anything.
   */
  readonly form?: 'chained' | 'fixed' | undefined;
  /** `chained`: the minimum number written (default 1); `fixed`: the exact number. At most 3. */
  readonly blocks?: number | undefined;
}

export interface Spec<Fields extends FieldTable = FieldTable> {
  readonly name: string;
  /** Bytes of the message before the MTI; `message.header`. */
  readonly headerBytes?: number | undefined;
  readonly mti: { readonly encoding: TextEncoding };
  readonly bitmap: BitmapLayout;
  readonly encodings: Encodings;
  readonly fields: Fields;
  /** Required and forbidden fields. Checked both ways: encoding and decoding refuse a message that breaks a rule. */
  readonly rules?: readonly MessageRule[] | undefined;
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

/** A spec that keeps the names of its fields for the types of its messages. Encodings default to ASCII and binary. */
export function defineSpec<const Fields extends FieldTable>(definition: SpecDefinition<Fields>): Spec<Fields> {
  return { ...definition, encodings: { ...ASCII_ENCODINGS, ...definition.encodings } };
}

/** The changes of a dialect to another one: additional or different fields, and `null` for fields that it lacks. */
export type SpecChanges<Fields extends ChangeTable> = Omit<Partial<SpecDefinition<FieldTable>>, 'fields'> & {
  readonly name: string;
  readonly fields?: Fields;
};

/** Fields by number, `null` for one that is removed. */
export type ChangeTable = { readonly [number: number]: Field | null };

/** The fields of a spec after changes. */
export type Changed<Fields, Changes> = Omit<Fields, keyof Changes> & {
  readonly [K in keyof Changes as Changes[K] extends null ? never : K]: Exclude<Changes[K], null>;
};

/** A spec that is `base` with the changes; its rules are added to those of `base`. */
export function extendSpec<Fields extends FieldTable, const Changes extends ChangeTable = Record<never, never>>(
  base: Spec<Fields>,
  { fields, encodings, rules, ...changes }: SpecChanges<Changes>,
): Spec<Changed<Fields, Changes>> {
  const merged = Object.entries({ ...base.fields, ...fields }).filter(([, field]) => field !== null);
  return {
    ...base,
    ...changes,
    encodings: { ...base.encodings, ...encodings },
    fields: Object.fromEntries(merged) as unknown as Changed<Fields, Changes>,
    rules: [...(base.rules ?? []), ...(rules ?? [])],
  };
}

type NameOf<F> = F extends { readonly name: infer Name extends string } ? Name : never;

type RecordOf<Fields> = { [K in keyof Fields as NameOf<Fields[K]>]?: ValueOf<Fields[K]> | undefined };

type PositionsOf<Fields extends readonly unknown[]> = {
  [F in Fields[number] as NameOf<F>]?: ValueOf<F> | undefined;
};

/** Values of composites, by kind. */
interface CompositeValues<Fields> {
  bitmapped: RecordOf<Fields>;
  tagged: RecordOf<Fields> & { others?: readonly OtherElement[] | undefined };
  dataset: RecordOf<Fields> & { tlv?: Uint8Array | undefined };
  positional: Fields extends readonly unknown[] ? PositionsOf<Fields> : never;
}

type ValueOf<F> = F extends { readonly kind: 'text' }
  ? string
  : F extends { readonly kind: 'binary' | 'tlv' }
    ? Uint8Array
    : F extends { readonly kind: infer Kind extends keyof CompositeValues<unknown>; readonly fields: infer Fields }
      ? CompositeValues<Fields>[Kind]
      : never;

/** The messages of a spec: text for text fields, bytes for binary ones, objects for composites, by name. */
export type MessageOf<S> =
  S extends Spec<infer Fields> ? { mti: string; header?: Uint8Array | undefined } & RecordOf<Fields> : never;
