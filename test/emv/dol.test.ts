import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { TlvError } from '../../src/basics/errors.ts';
import { fromHex } from '../../src/codecs/bytes/hex.ts';
import { MAX_DOL_BYTES, MAX_DOL_DATA_BYTES, parseDol } from '../../src/codecs/emv/dol.ts';

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
