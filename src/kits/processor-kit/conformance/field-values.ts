import { encodeTlv } from '../../../codecs/emv/tlv.ts';
import { type Content, signsOf } from '../../../codecs/iso8583/content.ts';
import type { Field } from '../../../codecs/iso8583/spec.ts';

/** For each content type, a character that every field accepts and that differs from padding. */
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
  '+n': '7',
  any: 'K',
};

const UNPREDICTABLE_NUMBER = 0x9f37;

/** Longer values prove nothing further and take longer to test. */
const LONGEST = 2_000;

/**
 * The shortest and the longest value of a field. For a composite with optional parts: each part alone, shortest and
 * longest. For a composite of consecutive parts: all of them.
 */
export function valuesOf(field: Field): unknown[] {
  switch (field.kind) {
    case 'text':
      return lengthsOf(field).map((length) => textOf(field.content, length));
    case 'binary':
      return lengthsOf(field).map((length) => new Uint8Array(length).fill(0xa5));
    case 'tlv':
      return [encodeTlv([{ tag: field.allow?.[0] ?? UNPREDICTABLE_NUMBER, value: Uint8Array.of(1, 2, 3, 4) }])];
    case 'positional':
      return [0, -1].map((which) =>
        Object.fromEntries(field.fields.map((part) => [part.name, valuesOf(part).at(which)])),
      );
    default:
      return eachAlone(Object.values(field.fields as Record<string, Field>));
  }
}

function eachAlone(subfields: readonly Field[]): unknown[] {
  return subfields.flatMap((subfield) => valuesOf(subfield).map((value) => ({ [subfield.name]: value })));
}

function lengthsOf({ min, max }: { min: number; max: number }): number[] {
  return [...new Set([Math.max(1, min), Math.min(max, LONGEST)])];
}

function textOf(content: Content, length: number): string {
  const sign = signsOf(content)?.[0];
  if (sign !== undefined) return String.fromCharCode(sign) + CHARACTER[content].repeat(length - 1);
  return CHARACTER[content].repeat(length);
}
