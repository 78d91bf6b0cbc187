import { createCipheriv } from 'node:crypto';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { CryptoError } from '../../src/basics/errors.ts';
import { fromHex, toHex } from '../../src/codecs/bytes/hex.ts';
import { BlockKey } from '../../src/codecs/crypto/block-key.ts';
import {
  cbcMac,
  cmac,
  isSameMac,
  keyMac,
  MAX_MAC_MESSAGE_BYTES,
  type MacMethod,
  type MacPadding,
  padMessage,
} from '../../src/codecs/crypto/mac.ts';

const text = fromHex(
  '6BC1BEE22E409F96E93D7E117393172AAE2D8A571E03AC9C9EB76FAC45AF8E51' +
    '30C81C46A35CE411E5FBC1191A0A52EFF69F2445DF4F9B17AD2B417BE66C3710',
);

describe('CMAC gives the examples of RFC 4493 and NIST SP 800-38B', () => {
  test.each([
    ['aes', '2B7E151628AED2A6ABF7158809CF4F3C', 0, 'BB1D6929E95937287FA37D129B756746'],
    ['aes', '2B7E151628AED2A6ABF7158809CF4F3C', 16, '070A16B46B4D4144F79BDD9DD04A287C'],
    ['aes', '2B7E151628AED2A6ABF7158809CF4F3C', 40, 'DFA66747DE9AE63030CA32611497C827'],
    ['aes', '2B7E151628AED2A6ABF7158809CF4F3C', 64, '51F0BEBF7E3B9D92FC49741779363CFE'],
    ['aes', '8E73B0F7DA0E6452C810F32B809079E562F8EAD2522C6B7B', 0, 'D17DDF46ADAACDE531CAC483DE7A9367'],
    ['aes', '8E73B0F7DA0E6452C810F32B809079E562F8EAD2522C6B7B', 16, '9E99A7BF31E710900662F65E617C5184'],
    ['aes', '8E73B0F7DA0E6452C810F32B809079E562F8EAD2522C6B7B', 40, '8A1DE5BE2EB31AAD089A82E6EE908B0E'],
    ['aes', '8E73B0F7DA0E6452C810F32B809079E562F8EAD2522C6B7B', 64, 'A1D5DF0EED790F794D77589659F39A11'],
    ['aes', '603DEB1015CA71BE2B73AEF0857D77811F352C073B6108D72D9810A30914DFF4', 0, '028962F61B7BF89EFC6B551F4667D983'],
    ['aes', '603DEB1015CA71BE2B73AEF0857D77811F352C073B6108D72D9810A30914DFF4', 16, '28A7023F452E8F82BD4BF28D8C37C35C'],
    ['aes', '603DEB1015CA71BE2B73AEF0857D77811F352C073B6108D72D9810A30914DFF4', 40, 'AAF3D8F1DE5640C232F5B169B9C911E6'],
    ['aes', '603DEB1015CA71BE2B73AEF0857D77811F352C073B6108D72D9810A30914DFF4', 64, 'E1992190549F6ED5696A2C056C315410'],
    ['tdes', '8AA83BF8CBDA10620BC1BF19FBB6CD58BC313D4A371CA8B5', 0, 'B7A688E122FFAF95'],
    ['tdes', '8AA83BF8CBDA10620BC1BF19FBB6CD58BC313D4A371CA8B5', 8, '8E8F293136283797'],
    ['tdes', '8AA83BF8CBDA10620BC1BF19FBB6CD58BC313D4A371CA8B5', 20, '743DDBE0CE2DC2ED'],
    ['tdes', '8AA83BF8CBDA10620BC1BF19FBB6CD58BC313D4A371CA8B5', 32, '33E6B1092400EAE5'],
    ['tdes', '4CF15134A2850DD58A3D10BA80570D38', 0, 'BD2EBF9A3BA00361'],
    ['tdes', '4CF15134A2850DD58A3D10BA80570D38', 8, '4FF2AB813C53CE83'],
    ['tdes', '4CF15134A2850DD58A3D10BA80570D38', 20, '62DD1B471902BD4E'],
    ['tdes', '4CF15134A2850DD58A3D10BA80570D38', 32, '31B1E431DABC4EB8'],
  ] as const)('%s %s over %i bytes', (algorithm, key, length, expected) => {
    expect(toHex(cmac(new BlockKey(algorithm, fromHex(key)))(text.subarray(0, length)))).toBe(expected);
  });
});

test('plain CBC under single DES gives the example of FIPS 113 and ANSI X9.9', () => {
  const key = new BlockKey('tdes', fromHex('0123456789ABCDEF'));
  const mac = keyMac(key, { algorithm: 'cbc', padding: 1 });
  expect(toHex(mac(Buffer.from('7654321 Now is the time for ')))).toBe('F1D30F6849312CA4');
});

const tdes = new BlockKey('tdes', fromHex('0123456789ABCDEFFEDCBA9876543210'));
const aes = new BlockKey('aes', fromHex('2B7E151628AED2A6ABF7158809CF4F3C'));
const methods: [BlockKey, MacMethod][] = [
  [tdes, { algorithm: 'retail', padding: 1 }],
  [tdes, { algorithm: 'retail', padding: 2 }],
  [tdes, { algorithm: 'cbc', padding: 3 }],
  [aes, { algorithm: 'cbc', padding: 1 }],
  [tdes, { algorithm: 'cmac' }],
  [aes, { algorithm: 'cmac' }],
];

test('a MAC does not depend on earlier messages with the same key', () => {
  for (const [key, method] of methods) {
    const mac = keyMac(key, method);
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 300 }), (message) => {
        expect(toHex(mac(message))).toBe(toHex(keyMac(key, method)(message)));
      }),
    );
  }
});

test('a MAC does not modify its message and returns its own bytes', () => {
  for (const [key, method] of methods) {
    const mac = keyMac(key, method);
    const message = Uint8Array.from(text.subarray(0, 24));
    const first = mac(message);
    const before = toHex(first);
    mac(text);
    expect(toHex(message)).toBe(toHex(text, 0, 24));
    expect(toHex(first)).toBe(before);
  }
});

test('CBC is the last block that OpenSSL enciphers', () => {
  const keyBytes = fromHex('0123456789ABCDEFFEDCBA9876543210');
  fc.assert(
    fc.property(
      fc.uint8Array({ minLength: 1, maxLength: 200 }),
      fc.constantFrom<MacPadding>(1, 2, 3),
      (message, padding) => {
        const cipher = createCipheriv('des-ede-cbc', keyBytes, new Uint8Array(8)).setAutoPadding(false);
        const expected = cipher.update(padMessage(message, padding, 8)).subarray(-8);
        expect(toHex(cbcMac(tdes, padding)(message))).toBe(toHex(expected));
      },
    ),
  );
});

test('a retail MAC ends with a decryption under the right half and an encryption under the left', () => {
  const left = new BlockKey('tdes', fromHex('0123456789ABCDEF'));
  const right = new BlockKey('tdes', fromHex('FEDCBA9876543210'));
  const expected = left.encrypt(right.decrypt(cbcMac(left, 2)(text)));
  expect(toHex(keyMac(tdes, { algorithm: 'retail', padding: 2 })(text))).toBe(toHex(expected));
});

test('an empty message is one block of padding', () => {
  expect(toHex(padMessage(new Uint8Array(0), 1, 8))).toBe('0000000000000000');
  expect(toHex(padMessage(new Uint8Array(0), 2, 16))).toBe('80000000000000000000000000000000');
  expect(toHex(padMessage(new Uint8Array(0), 3, 8))).toBe('00000000000000000000000000000000');
});

test('a message as long as the longest frame is authenticated, a longer one is refused', () => {
  for (const [key, method] of methods) {
    const mac = keyMac(key, method);
    expect(mac(new Uint8Array(MAX_MAC_MESSAGE_BYTES))).toHaveLength(key.blockBytes);
    expect(() => mac(new Uint8Array(MAX_MAC_MESSAGE_BYTES + 1))).toThrow(new CryptoError('DATA_LENGTH'));
    expect(toHex(mac(text))).toBe(toHex(keyMac(key, method)(text)));
  }
});

test('a retail MAC accepts a pair of DES keys and nothing else', () => {
  for (const key of [new BlockKey('tdes', new Uint8Array(8)), new BlockKey('tdes', new Uint8Array(24)), aes]) {
    expect(() => keyMac(key, { algorithm: 'retail', padding: 1 })).toThrow(new CryptoError('KEY_LENGTH'));
  }
});

test('MACs are equal if every byte is, and never if one is too short to be a MAC', () => {
  const mac = fromHex('F1D30F6849312CA4');
  expect(isSameMac(mac, Uint8Array.from(mac))).toBe(true);
  for (let position = 0; position < mac.length; position++) {
    const other = Uint8Array.from(mac);
    other[position]! ^= 1;
    expect(isSameMac(mac, other)).toBe(false);
  }
  expect(isSameMac(mac, mac.subarray(0, 4))).toBe(false);
  expect(isSameMac(mac.subarray(0, 4), mac.subarray(0, 4))).toBe(true);
  expect(isSameMac(mac.subarray(0, 3), mac.subarray(0, 3))).toBe(false);
  expect(isSameMac(new Uint8Array(0), new Uint8Array(0))).toBe(false);
});
