import fc from 'fast-check';
import { expect, test } from 'vitest';
import { isDigits, readBcd, writeBcd } from '../../src/codecs/bytes/digits.ts';
import { toHex } from '../../src/codecs/bytes/hex.ts';

const digits = fc.string({ unit: fc.constantFrom(...'0123456789'), maxLength: 30 });

test('digits are the ten of ASCII, at least one of them', () => {
  expect(isDigits('0123456789')).toBe(true);
  for (const text of ['', '12a', '-1', '1.0', ' 1', '١٢']) expect(isDigits(text)).toBe(false);
});

test('packed digits round-trip, an odd number with a zero on the left', () => {
  fc.assert(
    fc.property(digits, (text) => {
      const target = new Uint8Array(20);
      const end = writeBcd(text, target, 2);
      expect(end).toBe(2 + Math.ceil(text.length / 2));
      expect(readBcd(target, 2, end)).toBe(text.length % 2 === 0 ? text : `0${text}`);
    }),
  );
});

test('each byte holds two digits', () => {
  const target = new Uint8Array(3);
  expect(writeBcd('12345', target, 0)).toBe(3);
  expect(toHex(target)).toBe('012345');
});

test('a nibble above 9 is no digit, and neither is a letter', () => {
  expect(() => readBcd(Uint8Array.of(0x12, 0x3a))).toThrow(expect.objectContaining({ code: 'NOT_A_DIGIT', offset: 1 }));
  expect(() => readBcd(Uint8Array.of(0xf1))).toThrow(expect.objectContaining({ code: 'NOT_A_DIGIT', offset: 0 }));
  expect(() => writeBcd('12F', new Uint8Array(4), 0)).toThrow(
    expect.objectContaining({ code: 'NOT_A_DIGIT', offset: 2 }),
  );
});
