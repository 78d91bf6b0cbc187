import { describe, expect, test } from 'vitest';
import { fromHex, toHex } from '../../src/codecs/bytes/hex.ts';
import { type Codec, compileSpec } from '../../src/codecs/iso8583/codec.ts';
import {
  bitmapped,
  dataset,
  datasets,
  numeric,
  positional,
  tagged,
  text,
  tlv,
} from '../../src/codecs/iso8583/fields.ts';
import { maskerOf } from '../../src/codecs/iso8583/masker.ts';
import type { Field } from '../../src/codecs/iso8583/rows.ts';
import { defineSpec, type Spec } from '../../src/codecs/iso8583/spec.ts';
import { refusalOf } from './refusal-of.ts';

/** A codec of messages with one field, in DE48. */
function codecOf<const F extends Field>(field: F) {
  return compileSpec(
    defineSpec({ name: 'one', mti: { encoding: 'bcd' }, bitmap: { encoding: 'binary' }, fields: { 48: field } }),
  );
}

const HEAD = '08000000000000010000';
const message = (hex: string) => fromHex(HEAD + hex);
const ascii = (value: string) => Buffer.from(value, 'latin1').toString('hex');

describe('a tagged composite', () => {
  const row = tagged({
    name: 'composite',
    bytes: 999,
    prefix: 'LLL',
    tag: { encoding: 'ascii', length: 1 },
    elementPrefix: 'L',
    unknown: 'keep',
    fields: {
      A: text({ name: 'first', characters: 9, minCharacters: 0 }),
      B: text({ name: 'second', characters: 2 }),
    },
  });
  const codec = codecOf(row);

  test('returns elements by name in the order of the wire, and others with their position', () => {
    const bytes = message(ascii('018X1xB2bbA1aA0X0B2cc'));
    const decoded = codec.decode(bytes);
    expect(decoded.composite).toEqual({
      second: 'bb',
      first: 'a',
      others: [
        { at: 0, tag: 'X', value: Uint8Array.from([0x78]) },
        { at: 3, tag: 'A', value: '' },
        { at: 4, tag: 'X', value: new Uint8Array(0) },
        { at: 5, tag: 'B', value: 'cc' },
      ],
    });
    expect(Object.keys(decoded.composite!)).toEqual(['second', 'first', 'others']);
    expect(toHex(codec.toBytes(decoded))).toBe(toHex(bytes));
  });

  test('refuses unknown tags by default, and does not reveal them', () => {
    const strict = codecOf({ ...row, unknown: 'refuse' });
    const error = refusalOf(() => strict.decode(message(ascii('003X1x'))));
    expect(error).toMatchObject({ code: 'TAG_UNKNOWN', field: '48', offset: 13 });
    const unknown = { mti: '0800', composite: { others: [{ at: 0, tag: 'X', value: new Uint8Array(1) }] } };
    expect(refusalOf(() => strict.toBytes(unknown)).code).toBe('TAG_UNKNOWN');
  });

  test.each([
    ['a length behind the end', '003A9a', 'TRUNCATED', '48.A'],
    ['a tag and no length', '001A', 'TRUNCATED', '48.A'],
    ['a length that the element does not have', '003B1b', 'LENGTH_TOO_SHORT', '48.B'],
    ['an invalid tag', '002\u00010', 'TAG_INVALID', '48'],
  ])('%s is refused', (_what, content, code, field) => {
    expect(refusalOf(() => codec.decode(message(ascii(content))))).toMatchObject({ code, field });
  });

  test.each([
    [{ third: 'x' }, 'FIELD_UNKNOWN', '48.third'],
    [{ first: 7 }, 'VALUE_TYPE', '48.A'],
    [{ others: 'x' }, 'VALUE_TYPE', '48.others'],
    [{ others: [{ at: 0, tag: 'XX', value: new Uint8Array(0) }] }, 'TAG_INVALID', '48'],
    [{ others: [{ at: 0, tag: 'X', value: 'text' }] }, 'VALUE_TYPE', '48.?'],
    ['text', 'VALUE_TYPE', '48'],
  ])('%j is not written', (composite, code, field) => {
    const wrong = { mti: '0800', composite } as Parameters<typeof codec.toBytes>[0];
    expect(refusalOf(() => codec.toBytes(wrong))).toMatchObject({ code, field });
  });

  test('holds at most 256 elements, counted together with the rest of the message', () => {
    const elements = (count: number) => message(ascii(`${count * 2}`.padStart(3, '0') + 'A0'.repeat(count)));
    expect(codec.decode(elements(256)).composite!.others!.length).toBe(255);
    expect(refusalOf(() => codec.decode(elements(257))).code).toBe('TOO_MANY_ELEMENTS');
  });
});

describe('a positional composite', () => {
  const codec = codecOf(
    positional({
      name: 'composite',
      bytes: 9,
      minBytes: 2,
      prefix: 'L',
      fields: [
        numeric({ name: 'a', digits: 2 }),
        text({ name: 'b', characters: 3, prefix: 'L' }),
        numeric({ name: 'c', digits: 1 }),
      ],
    }),
  );

  test('may end early, but not within a subfield', () => {
    expect(codec.decode(message(ascii('212'))).composite).toEqual({ a: '12' });
    expect(codec.decode(message(ascii('4121x'))).composite).toEqual({ a: '12', b: 'x' });
    expect(refusalOf(() => codec.decode(message(ascii('3122'))))).toMatchObject({ code: 'TRUNCATED', field: '48.2' });
    expect(refusalOf(() => codec.decode(message(ascii('11'))))).toMatchObject({
      code: 'LENGTH_TOO_SHORT',
      field: '48',
    });
  });

  test('is filled to its end', () => {
    const error = refusalOf(() => codec.decode(message(ascii('6120123'))));
    expect(error).toMatchObject({ code: 'TRAILING_BYTES', field: '48', offset: 15 });
  });

  test('cannot omit a subfield before one that is present', () => {
    const wrong = { mti: '0800', composite: { a: '12', c: '3' } };
    expect(refusalOf(() => codec.toBytes(wrong))).toMatchObject({ code: 'FIELD_MISSING', field: '48.2' });
  });
});

describe('BER-TLV', () => {
  const codec = codecOf(tlv({ name: 'chip', bytes: 255, prefix: 'LLL', allow: [0x9f02, 0x9a, 0x77] }));

  test('keeps order, duplicates and padding unchanged', () => {
    const hex = '9A012077049A0121009F020100';
    const decoded = codec.decode(message(ascii('013') + hex));
    expect(toHex(decoded.chip!)).toBe(hex);
    expect(toHex(codec.toBytes(decoded))).toBe(toHex(message(ascii('013') + hex)));
  });

  test.each([
    ['9A02', 'TLV_INVALID', 2],
    ['9A0120950100', 'TAG_UNKNOWN', 5],
    ['77039501007700', 'TAG_UNKNOWN', 4],
  ])('%s is refused in both directions', (hex, code, at) => {
    const bytes = message(ascii(String(hex.length / 2).padStart(3, '0')) + hex);
    expect(refusalOf(() => codec.decode(bytes))).toMatchObject({ code, field: '48', offset: 13 + at });
    expect(refusalOf(() => codec.toBytes({ mti: '0800', chip: fromHex(hex) }))).toMatchObject({ code, field: '48' });
  });

  test('can keep a template whose content is not TLV', () => {
    const lenient = codecOf(tlv({ name: 'chip', bytes: 255, prefix: 'LLL', onBadChild: 'opaque' }));
    expect(toHex(lenient.decode(message(`${ascii('004')}72029F18`)).chip!)).toBe('72029F18');
    expect(refusalOf(() => codec.decode(message(`${ascii('004')}77029F18`))).code).toBe('TLV_INVALID');
  });
});

describe('datasets', () => {
  const codec = codecOf(
    datasets({
      name: 'composite',
      bytes: 999,
      prefix: { encoding: 'binary', bytes: 2 },
      fields: {
        '71': dataset({
          name: 'verification',
          bytes: 99,
          minBytes: 0,
          fields: { 1: numeric({ name: 'a', digits: 1 }), 71: numeric({ name: 'z', digits: 1 }) },
        }),
      },
    }),
  );

  test('extend their bitmap as far as an element needs', () => {
    const decoded = { mti: '0800', composite: { verification: { a: '1', z: '2', tlv: fromHex('9A0120') } } };
    const bytes = codec.toBytes(decoded);
    expect(toHex(bytes)).toBe(`${HEAD}001271000FC001${'80'.repeat(7)}0131329A0120`);
    expect(codec.decode(bytes)).toEqual(decoded);
  });

  test.each([
    ['a bitmap that is cut off', '000471000140', 'TRUNCATED', '48.71.bitmap'],
    ['a continuation that is missing', '00057100028000', 'TRUNCATED', '48.71.bitmap'],
    ['a bitmap without end', `000F71000C8000${'80'.repeat(10)}`, 'TOO_MANY_ELEMENTS', '48.71.bitmap'],
    ['an element that the spec lacks', '0006710003200031', 'FIELD_UNKNOWN', '48.71.2'],
    ['invalid TLV', '000671000300019A', 'TLV_INVALID', '48.71.tlv'],
  ])('%s is refused', (_what, hex, code, field) => {
    expect(refusalOf(() => codec.decode(message(hex)))).toMatchObject({ code, field });
  });
});

describe('a composite whose bitmap announces a second one', () => {
  const parts = (numbers: readonly number[], bytes = 16) =>
    bitmapped({
      name: 'composite',
      bytes: 99,
      prefix: 'LL',
      bitmap: { bytes, encoding: 'binary', form: 'chained' },
      fields: Object.fromEntries(numbers.map((number) => [number, text({ name: `part${number}`, characters: 1 })])),
    });
  const codec = compileSpec(
    defineSpec({
      name: 'one',
      mti: { encoding: 'bcd' },
      bitmap: { encoding: 'binary' },
      fields: { 48: parts([2, 64, 65, 128]) },
    }) as Spec,
  ) as Codec<object>;

  test.each([
    [{ part2: 'a', part64: 'b' }, `${ascii('10')}4000000000000001${ascii('ab')}`],
    [{ part2: 'a', part65: 'c' }, `${ascii('18')}C0000000000000008000000000000000${ascii('ac')}`],
    [{ part128: 'd' }, `${ascii('17')}80000000000000000000000000000001${ascii('d')}`],
  ])('%j has a second bitmap only if it needs one', (composite, hex) => {
    const bytes = codec.toBytes({ mti: '0800', composite });
    expect(toHex(bytes)).toBe((HEAD + hex).toUpperCase());
    expect(codec.decode(bytes)).toEqual({ mti: '0800', composite });
    expect(maskerOf(codec.spec).mask(bytes)).toHaveLength(bytes.length);
    for (let end = HEAD.length / 2 + 2; end < bytes.length; end++)
      expect(refusalOf(() => codec.decode(bytes.subarray(0, end))).field).toMatch(/^48/);
  });

  test('its announcing bit can be no field, and it has one to three parts of 8 bytes', () => {
    const compile = (field: Field) => refusalOf(() => codecOf(field)).field;
    expect(compile(parts([1, 2]))).toBe('48.1');
    expect(compile(parts([2, 65], 24))).toBe('48.65');
    expect(compile(parts([2], 4))).toBe('48');
  });
});
