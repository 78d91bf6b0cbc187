import { expect, test } from 'vitest';
import { fromHex, toHex } from '../../src/codecs/bytes/hex.ts';
import { hasOddParity, setOddParity } from '../../src/codecs/crypto/block-key.ts';

test('parity is odd when each byte has an odd count of one bits', () => {
  expect(hasOddParity(fromHex('0123456789ABCDEFFEDCBA9876543210'))).toBe(true);
  for (let position = 0; position < 16; position++) {
    const key = fromHex('0123456789ABCDEFFEDCBA9876543210');
    key[position]! ^= 1;
    expect(hasOddParity(key)).toBe(false);
  }
});

test('setting parity changes the lowest bit of the bytes that need it and nothing else', () => {
  const every = Uint8Array.from({ length: 256 }, (_, byte) => byte);
  setOddParity(every);
  expect(hasOddParity(every)).toBe(true);
  for (const [byte, adjusted] of every.entries()) expect(adjusted >> 1).toBe(byte >> 1);
  const good = fromHex('0123456789ABCDEF');
  setOddParity(good);
  expect(toHex(good)).toBe('0123456789ABCDEF');
});
