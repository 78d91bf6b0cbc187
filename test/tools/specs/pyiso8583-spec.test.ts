import { describe, expect, test } from 'vitest';
import { toHex } from '../../../src/codecs/bytes/hex.ts';
import { compileSpec } from '../../../src/codecs/iso8583/codec.ts';
import { readAs } from './packager.ts';

const row = (data_enc: string, len_enc: string, len_type: number, max_len: number, more = {}) => ({
  data_enc,
  len_enc,
  len_type,
  max_len,
  desc: 'Value',
  ...more,
});
const BASE = {
  h: row('ascii', 'ascii', 0, 0),
  t: row('ascii', 'ascii', 0, 4),
  p: row('b', 'ascii', 0, 8),
  1: row('b', 'ascii', 0, 8),
};

function wireOf(field: object, value: unknown): string {
  const { spec } = readAs('p.json', { ...BASE, 2: field });
  return toHex(compileSpec(spec).toBytes({ mti: '0100', value } as never)).slice(24);
}

test.each([
  [row('ascii', 'ascii', 2, 19), '12', '30323132'],
  [row('cp500', 'cp500', 2, 19), 'A[', 'F0F2C14A'],
  [row('b', 'bcd', 1, 10), Uint8Array.of(0x12, 0x34), '021234'],
  [row('b', 'b', 2, 300), Uint8Array.of(0x12), '000112'],
  [row('b', 'ascii', 0, 2), Uint8Array.of(0x12, 0x34), '1234'],
  [row('b', 'b', 1, 19, { len_count: 'nibbles', left_pad: '0' }), '123', '030123'],
  [row('b', 'b', 1, 19, { len_count: 'nibbles', right_pad: 'F' }), '123', '03123F'],
  [row('b', 'cp037', 2, 18, { len_count: 'nibbles' }), Uint8Array.of(0x12), 'F0F212'],
])('%j has the bytes of pyiso8583', (field, value, wire) => {
  expect(wireOf(field, value)).toBe(wire);
});

test('header, MTI and bitmaps have their encodings', () => {
  const { spec } = readAs('p.json', {
    ...BASE,
    h: row('b', 'ascii', 0, 5),
    t: row('b', 'ascii', 0, 2),
    p: row('cp500', 'ascii', 0, 16),
    1: row('cp500', 'ascii', 0, 16),
  });
  expect(spec).toMatchObject({ headerBytes: 5, mti: { encoding: 'bcd' }, bitmap: { encoding: 'ebcdic-hex' } });
});

describe('what the form of this gateway cannot express is refused with field and property', () => {
  test.each([
    [
      'another code page',
      { 2: row('cp037', 'ascii', 2, 19) },
      'p.json: field 2, data_enc: expected b, ascii, latin-1 or cp500',
    ],
    ['a length of seven digits', { 2: row('ascii', 'ascii', 7, 19) }, 'field 2, len_enc: no length of 7 bytes'],
    ['no length', { 2: row('ascii', 'ascii', 2, 0) }, 'field 2, max_len: '],
    ['characters in half bytes', { 2: row('ascii', 'ascii', 2, 9, { len_count: 'nibbles' }) }, 'field 2, len_count: '],
    ['another pad', { 2: row('b', 'b', 1, 9, { len_count: 'nibbles', left_pad: '7' }) }, 'field 2, left_pad: '],
    ['an odd length without pad', { 2: row('b', 'b', 0, 9, { len_count: 'nibbles' }) }, 'field 2: an odd number'],
    [
      'a field outside of the bitmaps',
      { 200: row('ascii', 'ascii', 2, 9) },
      'field 200: a field has a number from 2 to 192',
    ],
    ['bitmaps of two encodings', { 1: row('ascii', 'ascii', 0, 16) }, 'field 1: the second bitmap'],
    ['a header of variable length', { h: row('ascii', 'ascii', 2, 9) }, 'field h: '],
    ['an MTI of another length', { t: row('ascii', 'ascii', 0, 3) }, 'field t: '],
  ])('%s is refused', (_what, rows, reason) => {
    expect(() => readAs('p.json', { ...BASE, ...rows })).toThrow(reason);
  });
});
