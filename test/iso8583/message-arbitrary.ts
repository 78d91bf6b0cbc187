/** Random messages of any spec, for property tests. */
import fc from 'fast-check';
import { fromHex } from '../../src/codecs/bytes/hex.ts';
import {
  type BinaryField,
  type Content,
  type Field,
  type OtherElement,
  signsOf,
  subfieldsOf,
  type TaggedField,
  type TextField,
} from '../../src/codecs/iso8583/rows.ts';
import type { Spec } from '../../src/codecs/iso8583/spec.ts';

/** Longer values prove nothing further. */
const LONGEST = 40;

const CHARACTERS: Readonly<Record<Exclude<Content, 'x+n' | '+n'>, string>> = {
  n: '0123456789',
  a: 'AZazDd',
  an: '09AZazD',
  anp: '09AZazD ',
  ns: '09 =-*/#',
  as: 'AZazD =-*/#',
  ans: '09AZazD =-*/#',
  z: '0123456789',
  any: '\u0000\u007f\u0080\u00e9\u00ff09AZ =',
};

/** A message with any of its fields, in any order. */
export function messages(spec: Spec): fc.Arbitrary<{ mti: string }> {
  const header = headerOf(spec);
  return fc
    .tuple(fc.record({ mti: fc.stringMatching(/^[0-9]{4}$/), ...header }), recordOf(spec.fields), fc.boolean())
    .map(([first, rest, isReversed]) => {
      const entries = Object.entries({ ...first, ...rest });
      return Object.fromEntries(isReversed ? entries.reverse() : entries) as { mti: string };
    });
}

function headerOf({ headerBytes }: Spec): Record<string, fc.Arbitrary<Uint8Array>> {
  if (headerBytes === undefined) return {};
  if (typeof headerBytes === 'number') return { header: bytesOf(headerBytes, headerBytes) };
  const { lengthOffset, min, max } = headerBytes;
  return { header: bytesOf(min, max).map((bytes) => bytes.with(lengthOffset, bytes.length)) };
}

export function valuesOf(field: Field): fc.Arbitrary<unknown> {
  switch (field.kind) {
    case 'text':
      return textOf(field);
    case 'binary':
      return binaryOf(field);
    case 'tlv':
      return fc
        .constantFrom('', '9F0206000000000501', '9A032107209A03210720', '0000DF8A0101FF')
        .map((hex) => fromHex(hex));
    case 'positional':
      return positionsOf(
        Object.entries(subfieldsOf(field)).map(([, row]) => row),
        field.prefix !== undefined,
      );
    case 'tagged':
      return elementsOf(field);
    case 'bitmapped':
      return recordOf(field.fields);
    case 'dataset':
      return fc
        .tuple(recordOf(field.fields), fc.option(fc.constant(fromHex('9F02020102')), { nil: undefined }))
        .map(([record, tlv]) => (tlv === undefined ? record : { ...record, tlv }));
  }
}

function recordOf(fields: Readonly<Record<string, Field>>): fc.Arbitrary<Record<string, unknown>> {
  const values = Object.fromEntries(Object.values(fields).map((field) => [field.name, valuesOf(field)]));
  return fc.record(values, { requiredKeys: [] }).map((record) => ({ ...record }));
}

/** Only the last ones may be absent, and only if a length gives their number. */
function positionsOf(fields: readonly Field[], mayEnd: boolean): fc.Arbitrary<Record<string, unknown>> {
  const values = fc.tuple(...fields.map(valuesOf));
  const count = mayEnd ? fc.integer({ min: 0, max: fields.length }) : fc.constant(fields.length);
  return fc.tuple(values, count).map(([all, present]) => {
    const entries = fields.slice(0, present).map(({ name }, index) => [name, all[index]] as const);
    // An empty rest is absent.
    const isNone = (value: unknown) => typeof value === 'object' && Object.keys(value ?? {}).length === 0;
    return Object.fromEntries(entries.filter(([, value], index) => fields[index]!.end !== 'rest' || !isNone(value)));
  });
}

function elementsOf(field: TaggedField): fc.Arbitrary<Record<string, unknown>> {
  const repeated = Object.entries(field.fields).map(([tag, row]) => valuesOf(row).map((value) => ({ tag, value })));
  const unknown = fc.record({ tag: fc.constantFrom(...unknownTags(field)), value: bytesOf(0, 9) });
  const other = fc.oneof(...repeated, ...(field.unknown === 'keep' ? [unknown] : []));
  return fc.tuple(recordOf(field.fields), fc.array(other, { maxLength: 4 })).map(([named, others]) => {
    const known = new Set(Object.keys(field.fields).filter((tag) => field.fields[tag]!.name in named));
    // An unknown element with the tag of a known one would return under that name.
    const rest = others.filter(({ tag }) => known.has(tag) || !(tag in field.fields));
    const count = Object.keys(named).length;
    const placed: OtherElement[] = rest.map((element, index) => ({ at: count + index, ...element }));
    return placed.length === 0 ? named : { ...named, others: placed };
  });
}

function unknownTags({ tag }: TaggedField): string[] {
  const length = tag.encoding === 'binary' ? tag.length * 2 : tag.length;
  return ['7', '9'].map((digit) => digit.repeat(length));
}

function textOf(field: TextField): fc.Arbitrary<string> {
  const { content, min, max, pad } = field;
  const most = Math.max(min, Math.min(max, LONGEST));
  const signs = signsOf(content);
  if (content === 'x+n' || content === '+n') {
    const digits = fc.array(fc.constantFrom(...'0123456789'), { minLength: min - 1, maxLength: most - 1 });
    return fc
      .tuple(fc.constantFrom(...signs!.map((code) => String.fromCharCode(code))), digits)
      .map(([sign, rest]) => sign + rest.join(''));
  }
  const characters = fc.array(fc.constantFrom(...CHARACTERS[content]), {
    minLength: pad?.strip === true ? 0 : min,
    maxLength: most,
    size: 'max',
  });
  return characters.map((list) => {
    const value = stripped(list.join(''), pad);
    // An odd number of digits filled up with `0`, whose length is in bytes, is read with the fill.
    return field.unit === 'bytes' && value.length < max ? value.substring(value.length % 2) : value;
  });
}

/** A value that ends in its own padding is read without it. */
function stripped(value: string, pad: TextField['pad']): string {
  if (pad?.strip !== true) return value;
  return pad.side === 'left' ? value.replace(/^ +/, '') : value.replace(/ +$/, '');
}

function binaryOf({ min, max }: BinaryField): fc.Arbitrary<Uint8Array> {
  return bytesOf(min, Math.max(min, Math.min(max, LONGEST)));
}

function bytesOf(min: number, max: number): fc.Arbitrary<Uint8Array> {
  return fc.uint8Array({ minLength: min, maxLength: max }).map((bytes) => new Uint8Array(bytes));
}
