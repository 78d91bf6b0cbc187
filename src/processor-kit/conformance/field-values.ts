import type { Content } from '../../iso8583/content.ts';
import type { Field } from '../../iso8583/spec.ts';
import { CheckFailure } from './check.ts';

/** A character that every field of the content takes, and that padding would not be taken for. */
const CHARACTER: Readonly<Record<Content, string>> = {
  n: '7',
  a: 'K',
  an: 'K',
  anp: 'K',
  ns: '7',
  as: 'K',
  ans: 'K',
  z: '7',
  'x+n': '7',
  any: 'K',
};

/** Longer values prove nothing that these do not, and take their time. */
const LONGEST = 2_000;

/**
 * The shortest and the longest value of a field; for a composite, one value with the shortest and one with the longest
 * of each subfield by itself.
 */
export function valuesOf(field: Field): unknown[] {
  if (field.kind === 'text') return lengthsOf(field).map((length) => textOf(field.content, length));
  if (field.kind === 'binary') return lengthsOf(field).map((length) => new Uint8Array(length).fill(0xa5));
  if (field.kind === 'bitmapped') return eachAlone(Object.values(field.fields as Record<string, Field>));
  throw new CheckFailure(`no values are known for a field that is ${field.kind}`);
}

function eachAlone(subfields: readonly Field[]): unknown[] {
  return subfields.flatMap((subfield) => valuesOf(subfield).map((value) => ({ [subfield.name]: value })));
}

function lengthsOf({ min, max }: { min: number; max: number }): number[] {
  return [...new Set([Math.max(1, min), Math.min(max, LONGEST)])];
}

function textOf(content: Content, length: number): string {
  if (content === 'x+n') return `C${CHARACTER[content].repeat(length - 1)}`;
  return CHARACTER[content].repeat(length);
}
