import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type2 from '../../../processors/type-2/index.ts';
import { StartError } from '../../../src/basics/errors.ts';
import { specToJson, specToTypeScript } from '../../../src/tools/specs/write-spec.ts';
import { isofield, packager, readAs } from './packager.ts';

const row = (max: number, more: object = {}) => ({
  data_enc: 'ascii',
  len_enc: 'ascii',
  len_type: 0,
  max_len: max,
  ...more,
});
const FILES: readonly (readonly [kind: string, file: object])[] = [
  ['tapwire', specToJson(type2.spec)],
  [
    'pyiso8583',
    {
      h: row(0),
      t: row(4),
      p: row(16),
      1: row(16),
      2: row(19, { len_type: 2 }),
      3: row(6),
      35: row(37, { data_enc: 'b', len_type: 1, len_enc: 'b', len_count: 'nibbles', left_pad: '0' }),
    },
  ],
  [
    'moov',
    {
      name: 'a',
      fields: {
        0: { type: 'String', length: 4, enc: 'ASCII', prefix: 'ASCII.Fixed' },
        1: { type: 'Bitmap', length: 8, enc: 'Binary', prefix: 'Binary.Fixed' },
        2: { type: 'Numeric', length: 10, enc: 'ASCII', prefix: 'ASCII.Fixed', padding: { type: 'Left', pad: '0' } },
        48: {
          type: 'Composite',
          length: 99,
          prefix: 'ASCII.LL',
          tag: { enc: 'ASCII', length: 2, sort: 'StringsByInt' },
          subfields: { '01': { type: 'String', length: 9, enc: 'ASCII', prefix: 'ASCII.LL' } },
        },
        49: {
          type: 'Composite',
          length: 9,
          prefix: 'ASCII.L',
          tag: { sort: 'StringsByInt' },
          subfields: { 1: { type: 'String', length: 9, enc: 'ASCII', prefix: 'ASCII.Fixed' } },
        },
        55: {
          type: 'Composite',
          length: 999,
          prefix: 'ASCII.LLL',
          tag: { enc: 'BerTLVTag' },
          subfields: { '9A': { type: 'Binary', length: 3, enc: 'Binary', prefix: 'BerTLV' } },
        },
        60: {
          type: 'Composite',
          length: 99,
          prefix: 'ASCII.LL',
          bitmap: { type: 'Bitmap', length: 8, enc: 'Binary', prefix: 'Binary.Fixed', disableAutoExpand: true },
          subfields: { 2: { type: 'String', length: 9, enc: 'ASCII', prefix: 'ASCII.Fixed' } },
        },
      },
    },
  ],
];

const OTHERS = [null, true, 0, -1, 1e9, '', "'", [], {}, [null]];

/** Every copy of a file in which one value, at any depth, is one of the others. */
function* damaged(file: object): Generator<object> {
  for (const [key, value] of Object.entries(file)) {
    for (const other of OTHERS) yield { ...file, [key]: other };
    if (typeof value !== 'object' || value === null || Array.isArray(value)) continue;
    for (const inner of damaged(value)) yield { ...file, [key]: inner };
  }
}

/** Any error but a refusal with the name of the file fails the test. */
function isReadOrRefused(content: string | object): void {
  try {
    readAs('any', content);
  } catch (error) {
    expect(error).toBeInstanceOf(StartError);
  }
}

describe('a file with any other value in one place is read, or refused with a sentence', () => {
  test.each(FILES)('in the form of %s', (kind, file) => {
    expect(readAs('any', file).kind).toBe(kind);
    for (const each of damaged(file)) isReadOrRefused(each);
  });

  test('in the form of jpos', () => {
    const text = packager(isofield(2, 'IFA_LLNUM', 19), isofield(3, 'IFB_NUMERIC', 6));
    const cut = fc.tuple(fc.nat(text.length), fc.nat(12), fc.string({ maxLength: 4 }));
    fc.assert(
      fc.property(cut, ([at, length, other]) => isReadOrRefused(text.slice(0, at) + other + text.slice(at + length))),
      { numRuns: 1_000 },
    );
  });
});

test.each(['headerLength="two"', 'headerLength="-1"'])('a header of an unknown length is refused: %s', (header) => {
  const text = packager(isofield(2, 'IFA_LLNUM', 19)).replace('<isopackager', `<isopackager ${header}`);
  expect(() => readAs('header.xml', text)).toThrow('headerLength: expected a number of bytes');
});

test('a tag with a quote stays text in the source of a table', () => {
  const subfields = { "a'": { type: 'String', length: 9, enc: 'ASCII', prefix: 'ASCII.LL' } };
  const composite = { type: 'Composite', length: 99, prefix: 'ASCII.LL', tag: { enc: 'ASCII', length: 2 }, subfields };
  const moov = FILES[2]![1] as { readonly fields: object };
  const { spec } = readAs('tags.json', { fields: { ...moov.fields, 48: composite } });
  expect(specToTypeScript(spec, 'Iso')).toContain("'a\\'': ");
});
