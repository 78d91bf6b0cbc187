import { describe, expect, test } from 'vitest';
import { toHex } from '../../src/codecs/bytes/hex.ts';
import { compileSpec } from '../../src/codecs/iso8583/codec.ts';
import { parseSpec } from '../../src/codecs/iso8583/json-spec.ts';
import { extendSpec, type Spec } from '../../src/codecs/iso8583/spec.ts';
import { specToJson } from '../../src/tools/specs/write-spec.ts';
import { refusalOf } from './refusal-of.ts';
import { ebcdic, packed, specs } from './specs.ts';

const acme = {
  name: 'acme',
  mti: { encoding: 'bcd' },
  bitmap: { encoding: 'binary' },
  encodings: { digits: 'bcd', prefix: 'bcd' },
  fields: {
    '2': { name: 'pan', type: 'n', max: 19, min: 12, prefix: 'LL', title: 'Primary account number' },
    '3': { name: 'processingCode', type: 'n', length: 6, safe: true },
    '48': {
      name: 'privateData',
      type: 'tagged',
      max: 999,
      prefix: 'LLL',
      tag: { encoding: 'ascii', length: 2 },
      elementPrefix: { digits: 2, encoding: 'ascii' },
      unknown: 'keep',
      fields: { A1: { name: 'appId', type: 'ans', max: 20 } },
    },
    '55': { name: 'chipData', type: 'tlv', max: 255, prefix: 'LLL', allow: ['9F26', '82'] },
    '64': { name: 'mac', type: 'b', length: 8 },
  },
  rules: [{ mti: '0200', required: ['2', '48.A1'] }],
};

describe('a spec in JSON', () => {
  test('makes a codec like one in code', () => {
    const codec = compileSpec(parseSpec(acme));
    const message = { mti: '0200', pan: '4111111111111111', privateData: { appId: 'X' } };
    expect(toHex(codec.toBytes(message))).toBe('0200400000000001000016411111111111111100054131303158');
    expect(codec.decode(codec.toBytes(message))).toEqual(message);
    expect(refusalOf(() => codec.toBytes({ mti: '0200', pan: '4111111111111111' })).field).toBe('48.A1');
  });

  test('can extend another one: add, replace and remove fields', () => {
    const child = {
      name: 'acme-2',
      extends: 'acme',
      fields: {
        '3': { name: 'processing', type: 'an', length: 4 },
        '48': null,
        '70': { name: 'code', type: 'n', length: 3 },
      },
      rules: [],
    };
    const base = parseSpec({ ...acme, rules: [] });
    const spec = parseSpec(child, { find: (name) => (name === 'acme' ? base : undefined) });
    expect(Object.values(spec.fields).map(({ name }) => name)).toEqual([
      'pan',
      'processing',
      'chipData',
      'mac',
      'code',
    ]);
    expect(spec).toMatchObject({
      name: 'acme-2',
      mti: { encoding: 'bcd' },
      encodings: { digits: 'bcd', text: 'ascii' },
    });
    expect(refusalOf(() => parseSpec(child)).message).toContain('no spec is called acme');
  });

  const withRules = extendSpec(packed, {
    name: 'with rules',
    rules: [
      { mti: '02x0', processingCode: '00xxxx', when: [{ field: '48.001', present: true }], required: [2, '48.022'] },
    ],
  });

  test.each(
    [...specs, withRules as Spec].map((spec) => ({ name: spec.name, spec })),
  )('$name in code and in JSON are the same', ({ spec }) => {
    const json = JSON.parse(JSON.stringify(specToJson(spec)));
    expect(JSON.parse(JSON.stringify(parseSpec(json)))).toEqual(JSON.parse(JSON.stringify(spec)));
  });

  test.each([
    ['no object', 7, 'spec'],
    ['an unknown property', { ...acme, colour: 'red' }, 'spec'],
    ['an unknown encoding', { ...acme, mti: { encoding: 'utf8' } }, 'mti.encoding'],
    ['no size', { ...acme, fields: { '2': { name: 'pan', type: 'n' } } }, 'fields.2'],
    ['two sizes', { ...acme, fields: { '2': { name: 'pan', type: 'n', length: 3, max: 4 } } }, 'fields.2'],
    ['a field without a number', { ...acme, fields: { pan: { name: 'pan', type: 'n', length: 3 } } }, 'fields.pan'],
    ['an unknown type', { ...acme, fields: { '2': { name: 'pan', type: 'number', length: 3 } } }, 'fields.2.type'],
    ['composites that never end', nested(2_000), /^fields\.1(\.fields\.1)*/],
  ])('%s is refused with its position', (_what, json, place) => {
    const error = refusalOf(() => parseSpec(json));
    expect(error.code).toBe('SPEC_INVALID');
    expect(error.field).toMatch(place);
  });
});

test('a field called __proto__ in JSON is neither a field nor a prototype', () => {
  const json = JSON.parse(JSON.stringify(acme).replace('"3":', '"__proto__":'));
  const { fields } = parseSpec(json);
  expect(Object.keys(fields)).toEqual(['2', '48', '55', '64']);
  expect(Object.getPrototypeOf(fields)).toBe(Object.prototype);
});

function nested(depth: number): object {
  let field: object = { name: 'leaf', type: 'n', length: 1 };
  for (let level = 0; level < depth; level++) {
    field = { name: 'inner', type: 'bitmapped', max: 9, prefix: 'L', bitmap: { bytes: 1 }, fields: { '1': field } };
  }
  return { ...acme, fields: { '1': field } };
}

describe('an unusable spec is refused when it is compiled', () => {
  const { fields } = packed;
  test.each<[string, string, object]>([
    ['a length that its prefix cannot tell', '2', { 2: { ...fields[2], max: 100 } }],
    ['letters that are to be packed', '37', { 37: { ...fields[37], encoding: 'bcd' } }],
    ['two fields of one name', '4', { 3: fields[3], 4: { ...fields[4], name: 'processingCode' } }],
    ['a name that objects have', '3', { 3: { ...fields[3], name: 'toString' } }],
    ['an invalid name', '3', { 3: { ...fields[3], name: '__proto__' } }],
    ['a field where the bitmap is announced', '1', { 1: fields[3] }],
    ['a field behind the third bitmap', 'bitmap', { 193: fields[3] }],
    ['a negative length', '3', { 3: { ...fields[3], min: -1 } }],
    ['a fraction of a digit', '3', { 3: { ...fields[3], min: 1.5, max: 1.5 } }],
    ['two lengths and no prefix', '3', { 3: { ...fields[3], min: 1 } }],
    ['padding of two characters', '3', { 3: { ...fields[3], pad: { side: 'left', with: '00' } } }],
    ['a tag of another form', '48.1', { 48: { ...fields[48], fields: { 1: fields[3] } } }],
    ['an element with a prefix of its own', '48.001', { 48: { ...fields[48], fields: { '001': fields[2] } } }],
    ['tags without a length', '48', { 48: { ...fields[48], tag: { encoding: 'ascii', length: 0 } } }],
  ])('%s', (_what, path, changed) => {
    const spec = { ...packed, fields: changed } as typeof packed;
    expect(refusalOf(() => compileSpec(spec))).toMatchObject({ code: 'SPEC_INVALID', field: path });
  });

  test('composites nested deeper than the limit, and field 65 beside a third bitmap', () => {
    let field: object = fields[3];
    for (let level = 0; level < 5; level++) {
      field = {
        kind: 'bitmapped',
        name: 'inner',
        min: 0,
        max: 9,
        prefix: 'L',
        bitmap: { bytes: 1 },
        fields: { 1: field },
      };
    }
    const deep = { ...packed, fields: { 2: field } } as unknown as typeof packed;
    expect(refusalOf(() => compileSpec(deep)).field).toBe('2.1.1.1.1');
    const blocked = { ...ebcdic, fields: { ...ebcdic.fields, 65: fields[3] } };
    expect(refusalOf(() => compileSpec(blocked)).field).toBe('65');
  });
});
