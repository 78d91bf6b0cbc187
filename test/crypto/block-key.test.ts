import { createCipheriv } from 'node:crypto';
import { inspect } from 'node:util';
import { expect, test } from 'vitest';
import { CryptoError } from '../../src/basics/errors.ts';
import { fromHex, toHex } from '../../src/codecs/bytes/hex.ts';
import { BlockKey, takeKey } from '../../src/codecs/crypto/block-key.ts';

const SINGLE = '0123456789ABCDEF';

test('a single DES key enciphers as TDES does with three equal keys', () => {
  const block = fromHex('4E6F772069732074');
  const expected = createCipheriv('des-ede3-ecb', fromHex(SINGLE.repeat(3)), null)
    .setAutoPadding(false)
    .update(block);
  const key = new BlockKey('tdes', fromHex(SINGLE));
  expect(toHex(key.encrypt(block))).toBe('3FA40E8A984D4815');
  expect(toHex(key.encrypt(block))).toBe(toHex(expected));
  expect(toHex(key.decrypt(expected))).toBe(toHex(block));
  expect(key.lengthBytes).toBe(8);
});

test('each length of each algorithm deciphers what it enciphered, with and without chaining', () => {
  const iv = fromHex('000102030405060708090A0B0C0D0E0F');
  const clear = Uint8Array.from({ length: 48 }, (_, position) => position);
  for (const [algorithm, lengths] of [
    ['tdes', [8, 16, 24]],
    ['aes', [16, 24, 32]],
  ] as const) {
    for (const length of lengths) {
      const key = new BlockKey(
        algorithm,
        Uint8Array.from({ length }, (_, position) => 7 * position + 1),
      );
      const keyIv = iv.subarray(0, key.blockBytes);
      expect(toHex(key.decrypt(key.encrypt(clear)))).toBe(toHex(clear));
      expect(toHex(key.decryptCbc(key.encryptCbc(clear, keyIv), keyIv))).toBe(toHex(clear));
      expect(toHex(key.encryptCbc(clear, keyIv))).not.toBe(toHex(key.encrypt(clear)));
    }
  }
});

test('a key of any other length is refused', () => {
  for (let length = 0; length <= 40; length++) {
    if (![8, 16, 24].includes(length)) {
      expect(() => new BlockKey('tdes', new Uint8Array(length))).toThrow(new CryptoError('KEY_LENGTH'));
    }
    if (![16, 24, 32].includes(length)) {
      expect(() => new BlockKey('aes', new Uint8Array(length))).toThrow(new CryptoError('KEY_LENGTH'));
    }
  }
});

test('data that is not a multiple of the block length is refused', () => {
  const key = new BlockKey('tdes', fromHex(SINGLE));
  for (const operation of [
    () => key.encrypt(new Uint8Array(7)),
    () => key.decrypt(new Uint8Array(9)),
    () => key.encryptCbc(new Uint8Array(1), new Uint8Array(8)),
    () => key.decryptCbc(new Uint8Array(15), new Uint8Array(8)),
  ]) {
    expect(operation).toThrow(new CryptoError('DATA_LENGTH'));
  }
});

test('a key does not show its bytes, however it is printed', () => {
  const key = new BlockKey('tdes', fromHex(SINGLE));
  const shown = [
    inspect(key, { depth: 9, showHidden: true }),
    JSON.stringify(key),
    String(key),
    JSON.stringify({ ...key }),
  ];
  for (const text of shown) {
    expect(text.toUpperCase()).not.toContain('0123456789ABCDEF');
    expect(text).not.toMatch(/1, ?35, ?69|01 23 45/);
  }
});

test('bytes that were lent out are wiped afterwards, also if their use fails', () => {
  const key = new BlockKey('tdes', fromHex(SINGLE));
  let kept: Uint8Array | undefined;
  const shown = key.useBytes((bytes) => {
    kept = bytes;
    return toHex(bytes);
  });
  expect(shown).toBe(SINGLE);
  expect(toHex(kept!)).toBe('0000000000000000');
  const failing = () =>
    key.useBytes((bytes) => {
      kept = bytes;
      throw new Error('no');
    });
  expect(failing).toThrow('no');
  expect(toHex(kept!)).toBe('0000000000000000');
});

test('bytes from which a key was made are wiped, also if they are not a key', () => {
  const bytes = fromHex(SINGLE);
  expect(takeKey('tdes', bytes).useBytes((held) => toHex(held))).toBe(SINGLE);
  expect(toHex(bytes)).toBe('0000000000000000');
  const short = fromHex('FFFF');
  expect(() => takeKey('aes', short)).toThrow(new CryptoError('KEY_LENGTH'));
  expect(toHex(short)).toBe('0000');
});
