import { matchesPattern } from './message.ts';
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
  /**
   * `chained`: the field whose value is the third bitmap. By default the third bitmap follows the second one directly,
   * and bit 65 announces it.
   */
  readonly thirdAt?: 65 | 128 | undefined;
}

export interface Spec<Fields extends FieldTable = FieldTable> {
  readonly name: string;
  /**
   * Bytes of the message before the MTI; `message.header`. With `lengthOffset`, the byte at that offset of the header is its
   * length, as in headers of Visa, where a rejected message has a longer one.
   */
  readonly headerBytes?:
    | number
    | { readonly lengthOffset: number; readonly min: number; readonly max: number }
    | undefined;
  readonly mti: { readonly encoding: TextEncoding };
  readonly bitmap: BitmapLayout;
  readonly encodings: Encodings;
  readonly fields: Fields;
  /** Required and forbidden fields. Checked both ways: encoding and decoding refuse a message that breaks a rule. */
  readonly rules?: readonly MessageRule[] | undefined;
  /** Fields that differ by MTI. The first layout whose pattern matches applies. */
  readonly layouts?: readonly Layout[] | undefined;
}

/** What is different in messages with an MTI: fields, and `null` for those that they lack. */
export interface Layout<Fields extends ChangeTable = ChangeTable> {
  /** `0400`, or with `x` for any digit: `04xx`. */
  readonly mti: string;
  readonly fields: Fields;
}

export type SpecDefinition<Fields extends FieldTable> = Omit<Spec<Fields>, 'encodings' | 'layouts'> & {
  readonly layouts?: readonly Layout[];
  readonly encodings?: Partial<Encodings>;
};

const ASCII_ENCODINGS: Encodings = {
  text: 'ascii',
  digits: 'ascii',
  signed: 'ascii',
  binary: 'binary',
  prefix: 'ascii',
};

/**
 * A spec that keeps the names of its fields for the types of its messages; those of its layouts as well. Encodings
 * default to ASCII and binary.
 */
export function defineSpec<const Fields extends FieldTable, const Layouts extends readonly Layout[] = readonly []>(
  definition: SpecDefinition<Fields> & { readonly layouts?: Layouts },
): Spec<WithLayouts<Fields, Layouts>> {
  const spec = { ...definition, encodings: { ...ASCII_ENCODINGS, ...definition.encodings } };
  return spec as unknown as Spec<WithLayouts<Fields, Layouts>>;
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

/** The fields of all messages: a number has the field of the spec or that of a layout. */
type WithLayouts<Fields, Layouts extends readonly Layout[]> = [Layouts[number]] extends [never]
  ? Fields
  : { readonly [K in keyof Fields | KeyOf<Layouts[number]['fields']>]: FieldAt<Fields | Layouts[number]['fields'], K> };

type KeyOf<Table> = Table extends unknown ? keyof Table : never;

type FieldAt<Table, K> = Table extends unknown ? (K extends keyof Table ? Exclude<Table[K], null> : never) : never;

const DERIVED = new WeakMap<Spec, Map<string, Spec>>();

/** The spec of messages with this MTI: `spec` itself, or with the changes of a layout. */
export function specOf(spec: Spec, mti: unknown): Spec {
  if (spec.layouts === undefined || typeof mti !== 'string') return spec;
  const layout = spec.layouts.find((each) => matchesPattern(mti, each.mti));
  return layout === undefined ? spec : derivedSpec(spec, layout);
}

/** A spec with a layout. Rules for other MTIs do not apply to it, and may name fields that it lacks. */
export function derivedSpec(spec: Spec, layout: Layout): Spec {
  const known = DERIVED.get(spec) ?? new Map<string, Spec>();
  DERIVED.set(spec, known);
  const found = known.get(layout.mti);
  if (found !== undefined) return found;
  const rules = spec.rules?.filter(({ mti }) => mti === undefined || canBeBoth(mti, layout.mti));
  const derived: Spec = {
    ...extendSpec({ ...spec, rules }, { name: spec.name, fields: layout.fields }),
    layouts: undefined,
  };
  known.set(layout.mti, derived);
  return derived;
}

function canBeBoth(one: string, other: string): boolean {
  return (
    one.length === other.length && Array.from(one).every((c, at) => c === 'x' || other[at] === 'x' || c === other[at])
  );
}

type NameOf<F> = F extends { readonly name: infer Name extends string } ? Name : never;

type RecordOf<Fields> = { [F in Fields[keyof Fields] as NameOf<F>]?: ValueOf<F> | undefined };

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
