import { expect, test } from 'vitest';
import { fromHex } from '../../src/codecs/bytes/hex.ts';
import { BlockKey } from '../../src/codecs/crypto/block-key.ts';
import { kcv } from '../../src/codecs/crypto/mac.ts';

test('the check value of a TDES key begins its encrypted zero block, with any parity bits', () => {
  expect(kcv(new BlockKey('tdes', fromHex('0123456789ABCDEFFEDCBA9876543210')))).toBe('08D7B4');
  expect(kcv(new BlockKey('tdes', fromHex('0022446688AACCEEFFDDBB9977553311')))).toBe('08D7B4');
});

test('the check value of an AES key begins its CMAC over a zero block, in 3 bytes or 5', () => {
  const key = new BlockKey('aes', fromHex('3F419E1CB7079442AA37474C2EFBF8B8'));
  expect(kcv(key)).toBe('08793E');
  expect(kcv(key, 5)).toBe('08793E25AB');
});
