import fc from 'fast-check';
import { expect, test } from 'vitest';
import { fromHex, toHex } from '../../src/codecs/bytes/hex.ts';

test('bytes become upper-case hex, all of them or a range', () => {
  const bytes = Uint8Array.of(0x00, 0x0a, 0xff, 0x10);
  expect(toHex(bytes)).toBe('000AFF10');
  expect(toHex(bytes, 1, 3)).toBe('0AFF');
  expect(toHex(bytes, 2, 2)).toBe('');
});

test('hex of either case decodes to its bytes, at any length', () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 80 }), (bytes) => {
      expect(fromHex(toHex(bytes))).toEqual(bytes);
      expect(fromHex(toHex(bytes).toLowerCase())).toEqual(bytes);
      expect(toHex(bytes)).toBe(Buffer.from(bytes).toString('hex').toUpperCase());
    }),
  );
});

test('a range of a view counts from the start of the view', () => {
  const view = Uint8Array.from({ length: 60 }, (_, position) => position).subarray(10);
  expect(toHex(view, 1, 3)).toBe('0B0C');
  expect(toHex(view, 1, 40)).toBe(toHex(view).slice(2, 80));
});

test.each([
  ['an odd number of digits', '9F2', 'ODD_COUNT', 3],
  ['a letter beyond F', '9G', 'NOT_HEX', 1],
  ['a space', '9F 26 ', 'NOT_HEX', 2],
  ['a sign that only looks like a digit', '１1', 'NOT_HEX', 0],
  ['a prefix', '0x9F', 'NOT_HEX', 1],
  ['characters beside the ranges of digits and letters', '/:', 'NOT_HEX', 0],
  ['@', '9@', 'NOT_HEX', 1],
])('%s is refused, at its offset', (_, text, code, offset) => {
  expect(() => fromHex(text)).toThrow(expect.objectContaining({ code, offset }));
});
