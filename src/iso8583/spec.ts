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
  /** Which fields must and must not be there. Checked both ways: such a message is neither written nor read. */
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

/** A spec, with the names of its fields kept for the types of its messages. Encodings default to ASCII and binary. */
export function defineSpec<const Fields extends FieldTable>(definition: SpecDefinition<Fields>): Spec<Fields> {
  return { ...definition, encodings: { ...ASCII_ENCODINGS, ...definition.encodings } };
}

/** What a dialect changes of another one: fields it has more or otherwise, and `null` for those it lacks. */
export type SpecChanges<Fields extends ChangeTable> = Omit<Partial<SpecDefinition<FieldTable>>, 'fields'> & {
  readonly name: string;
  readonly fields?: Fields;
};

/** Fields by number, `null` for one that is taken away. */
export type ChangeTable = { readonly [number: number]: Field | null };

/** The fields of a spec after changes. */
export type Changed<Fields, Changes> = Omit<Fields, keyof Changes> & {
  readonly [K in keyof Changes as Changes[K] extends null ? never : K]: Exclude<Changes[K], null>;
};

/** A spec that differs from `base` as told; its rules come on top of those of `base`. */
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
