import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { fromHex, toHex } from '../../src/bytes/hex.ts';
import { fillDol, MAX_DOL_BYTES, MAX_DOL_DATA_BYTES, parseDol } from '../../src/emv/dol.ts';
import { TlvError } from '../../src/errors.ts';
import { tapOf } from './tap-of.ts';

const dol = (hex: string) => fromHex(hex.replaceAll(' ', ''));

describe('parseDol', () => {
  test('reads tags of any length, each with its one byte of length', () => {
    expect(parseDol(dol('9F6604 9F0206 95 05 DF8115 06 9A00'))).toEqual([
      { tag: 0x9f66, lengthBytes: 4 },
      { tag: 0x9f02, lengthBytes: 6 },
      { tag: 0x95, lengthBytes: 5 },
      { tag: 0xdf8115, lengthBytes: 6 },
      { tag: 0x9a, lengthBytes: 0 },
    ]);
    expect(parseDol(dol(''))).toEqual([]);
  });

  test('a length is a number of up to 255, not the start of a longer length', () => {
    expect(parseDol(dol('9F10 81'))).toEqual([{ tag: 0x9f10, lengthBytes: 0x81 }]);
  });

  test.each([
    ['a tag cut short', '9F0206 9F', 'TAG_TRUNCATED', 3],
    ['a tag of four bytes', '9F818101 01', 'TAG_TOO_LONG', 0],
    ['a tag without its length', '9F0206 9F1A', 'LENGTH_MISSING', 5],
    ['padding, which has no place in a list', '9F0206 0000', 'TAG_INVALID', 3],
    ['a list that asks for more than a command carries', '9F10FF 9501', 'TOO_LARGE', 4],
    ['a list longer than any', '9A00'.repeat(127), 'TOO_LARGE', MAX_DOL_BYTES],
  ])('refuses %s', (_, hex, code, offset) => {
    expect(() => parseDol(dol(hex))).toThrow(expect.objectContaining({ code, offset }));
  });

  test('any bytes are a list or a TlvError whose offset is inside them', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 300 }), (bytes) => {
        try {
          const asked = parseDol(bytes).reduce((sum, { lengthBytes }) => sum + lengthBytes, 0);
          expect(asked).toBeLessThanOrEqual(MAX_DOL_DATA_BYTES);
        } catch (error) {
          if (!(error instanceof TlvError)) throw error;
          expect(error.offset).toBeLessThanOrEqual(bytes.length);
        }
      }),
    );
  });
});

describe('fillDol', () => {
  const fill = (tag: number, lengthBytes: number, value: string) =>
    toHex(fillDol([{ tag, lengthBytes }], tapOf([tag, value])));

  test.each([
    ['a number keeps its right end', 0x9f02, 4, '123456789012', '56789012'],
    ['a number is padded on the left with zeros', 0x9f02, 8, '123456789012', '0000123456789012'],
    ['a compressed number keeps its left end', 0x5a, 4, '4111111111111111', '41111111'],
    ['a compressed number is padded on the right with F', 0x5a, 10, '4111111111111111', '4111111111111111FFFF'],
    ['text keeps its left end', 0x9f1e, 2, '3131323233333434', '3131'],
    ['text is padded on the right with zeros', 0x50, 6, '56495341', '564953410000'],
    ['bytes keep their left end', 0x95, 3, '8000048000', '800004'],
    ['bytes are padded on the right with zeros', 0x95, 6, '8000048000', '800004800000'],
    ['an unknown tag is bytes', 0xdf7f, 3, 'AABB', 'AABB00'],
    ['a value of the right length is copied', 0x9f37, 4, '01020304', '01020304'],
    ['no bytes are requested and none returned', 0x9f37, 0, '01020304', ''],
  ])('%s', (_, tag, lengthBytes, value, filled) => {
    expect(fill(tag, lengthBytes, value)).toBe(filled);
  });

  test('missing values become zeros, and so does a template', () => {
    const tap = tapOf([0x9a, '251120']);
    const entries = parseDol(dol('9A03 9F3704 7002 9C01'));
    expect(toHex(fillDol(entries, tap))).toBe(`251120${'00'.repeat(7)}`);
    expect(toHex(fillDol([{ tag: 0x70, lengthBytes: 2 }], tapOf([0x70, '9A00'])))).toBe('0000');
  });

  test("a kernel's own format decides how its values are truncated", () => {
    const entries = [{ tag: 0x9f67, lengthBytes: 2 }];
    const tap = tapOf([0x9f67, '123456']);
    expect(toHex(fillDol(entries, tap, 'amex'))).toBe('3456');
    expect(toHex(fillDol(entries, tap, 'mastercard'))).toBe('1234');
  });

  test('the values have the order of the list', () => {
    const tap = tapOf([0x9c, '00'], [0x9f02, '000000001000'], [0x5f2a, '0710']);
    expect(toHex(fillDol(parseDol(dol('9F0206 5F2A02 9C01')), tap))).toBe('000000001000071000');
  });
});
