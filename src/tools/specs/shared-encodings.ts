import { type Field, type Prefix, type PrefixEncoding, signsOf, subfieldsOf } from '../../codecs/iso8583/rows.ts';
import type { Encodings, Spec } from '../../codecs/iso8583/spec.ts';

type Axis = keyof Encodings;

/** The axis whose encoding a field has; undefined for those that have none. */
function axisOf(field: Field): Axis | undefined {
  if (field.kind === 'binary') return 'binary';
  if (field.kind !== 'text') return undefined;
  if (field.content === 'n' || field.content === 'z') return 'digits';
  return signsOf(field.content) === undefined ? 'text' : 'signed';
}

const isOfDigits = (
  prefix: Prefix | undefined,
): prefix is { digits: number; encoding: Exclude<PrefixEncoding, 'binary'> } =>
  typeof prefix === 'object' && 'digits' in prefix;

/**
 * The same spec as a person would write it: the most common encoding of each axis is that of the spec, and the fields
 * that have it do not repeat it. Other tools state every encoding with every field.
 */
export function shareEncodings(spec: Spec): Spec {
  const counts: Record<Axis, Record<string, number>> = { text: {}, digits: {}, signed: {}, binary: {}, prefix: {} };
  const count = (axis: Axis, encoding: string | undefined) => {
    if (encoding !== undefined) counts[axis][encoding] = (counts[axis][encoding] ?? 0) + 1;
  };
  const visit = (field: Field) => {
    const axis = axisOf(field);
    if (axis !== undefined) count(axis, (field as { encoding?: string }).encoding);
    if (isOfDigits(field.prefix)) count('prefix', field.prefix.encoding);
    Object.values(subfieldsOf(field)).forEach(visit);
  };
  Object.values(spec.fields).forEach(visit);
  const axes = Object.keys(counts) as Axis[];
  const most = (axis: Axis) =>
    Object.entries(counts[axis]).sort(([, a], [, b]) => b - a)[0]?.[0] ?? spec.encodings[axis];
  const encodings = Object.fromEntries(axes.map((axis) => [axis, most(axis)])) as unknown as Encodings;
  const fields = Object.entries(spec.fields).map(([key, field]) => [key, shared(field, encodings)]);
  return { ...spec, encodings, fields: Object.fromEntries(fields) };
}

function shared(field: Field, encodings: Encodings): Field {
  const { encoding, prefix, ...rest } = field as Field & { readonly encoding?: string };
  const axis = axisOf(field);
  const isShared = axis !== undefined && encoding === encodings[axis];
  const isSharedPrefix = isOfDigits(prefix) && prefix.encoding === encodings.prefix;
  return {
    ...rest,
    ...(encoding === undefined || isShared ? {} : { encoding }),
    ...(prefix === undefined ? {} : { prefix: isSharedPrefix ? 'L'.repeat(prefix.digits) : prefix }),
    ...('fields' in field ? { fields: sharedBelow(field, encodings) } : {}),
  } as Field;
}

function sharedBelow(field: Field, encodings: Encodings): unknown {
  if (field.kind === 'positional') return field.fields.map((each) => shared(each, encodings));
  return Object.fromEntries(Object.entries(subfieldsOf(field)).map(([key, each]) => [key, shared(each, encodings)]));
}
