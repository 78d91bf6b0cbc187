import { describe, expect, test } from 'vitest';
import { compileSpec } from '../../src/codecs/iso8583/codec.ts';
import { bitmapped, numeric, positional, text } from '../../src/codecs/iso8583/fields.ts';
import type { MessageRule } from '../../src/codecs/iso8583/rules.ts';
import { defineSpec, extendSpec } from '../../src/codecs/iso8583/spec.ts';
import { refusalOf } from './refusal-of.ts';

const spec = defineSpec({
  name: 'rules',
  mti: { encoding: 'ascii' },
  bitmap: { encoding: 'binary' },
  fields: {
    2: numeric({ name: 'pan', digits: 19, prefix: 'LL' }),
    3: numeric({ name: 'processingCode', digits: 6 }),
    22: numeric({ name: 'entryMode', digits: 3 }),
    23: numeric({ name: 'panSequence', digits: 3 }),
    43: positional({
      name: 'acceptor',
      bytes: 9,
      prefix: 'L',
      fields: [text({ name: 'city', characters: 2 }), text({ name: 'country', characters: 2 })],
    }),
    60: bitmapped({
      name: 'inner',
      bytes: 99,
      prefix: 'LL',
      bitmap: { bytes: 1 },
      fields: { 1: numeric({ name: 'flag', digits: 1 }) },
    }),
  },
});

const rules: readonly MessageRule[] = [
  { mti: '0200', required: [3, 22] },
  { mti: '02xx', processingCode: '00xxxx', required: ['2'] },
  { when: [{ field: 22, matches: '07x' }], required: [23] },
  {
    when: [
      { field: 23, present: false },
      { field: '60.1', matches: '1' },
    ],
    forbidden: ['43.2'],
  },
  { mti: '08x0', forbidden: [2] },
];

const plain = compileSpec(spec);
const strict = compileSpec(extendSpec(spec, { name: 'strict', rules }));

describe('required, conditional and forbidden fields', () => {
  test.each([
    ['a field that its MTI needs', { mti: '0200', processingCode: '010000' }, 'FIELD_MISSING', '22'],
    ['a field that its processing code needs', { mti: '0201', processingCode: '000000' }, 'FIELD_MISSING', '2'],
    ['a field that another one needs', { mti: '0400', entryMode: '071' }, 'FIELD_MISSING', '23'],
    ['a field that its MTI must not have', { mti: '0810', pan: '4111111111111111' }, 'FIELD_FORBIDDEN', '2'],
    [
      'a subfield that a missing field forbids',
      { mti: '0100', acceptor: { city: 'AB', country: 'ZA' }, inner: { flag: '1' } },
      'FIELD_FORBIDDEN',
      '43.2',
    ],
  ])('%s is refused in both directions', (_what, message, code, field) => {
    expect(refusalOf(() => strict.toBytes(message))).toMatchObject({ code, field });
    const bytes = plain.toBytes(message);
    const error = refusalOf(() => strict.decode(bytes));
    expect(error).toMatchObject({ code, field, offset: bytes.length });
    expect(error.partial).toMatchObject(message);
  });

  test.each([
    { mti: '0200', processingCode: '010000', entryMode: '012' },
    { mti: '0200', pan: '4111111111111111', processingCode: '000000', entryMode: '071', panSequence: '001' },
    { mti: '0100', acceptor: { city: 'AB' }, inner: { flag: '1' } },
    { mti: '0100', acceptor: { city: 'AB', country: 'ZA' }, inner: { flag: '0' } },
    { mti: '0400', pan: '4111111111111111' },
  ])('%j obeys the rules', (message) => {
    expect(strict.decode(strict.toBytes(message))).toEqual(message);
  });

  test('must name existing fields', () => {
    const wrong = extendSpec(spec, { name: 'wrong', rules: [{ required: ['60.2'] }] });
    expect(refusalOf(() => compileSpec(wrong))).toMatchObject({ code: 'SPEC_INVALID', field: '60.2' });
  });
});
