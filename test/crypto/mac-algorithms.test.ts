import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { CryptoError } from '../../src/basics/errors.ts';
import { fromHex, toHex } from '../../src/codecs/bytes/hex.ts';
import { BlockKey } from '../../src/codecs/crypto/block-key.ts';
import {
  keyMac,
  keyShapeOf,
  MAC_ALGORITHM_NAMES,
  MAC_ALGORITHMS,
  type MacAlgorithmName,
  namesOfMac,
} from '../../src/codecs/crypto/mac.ts';
import { demoKey, SoftHsm } from '../../src/codecs/crypto/soft-hsm.ts';

const KEY = '0123456789ABCDEFFEDCBA9876543210';
const TEXT = Buffer.from('0200 4111111111111111 000000 000000001234');
const key = (algorithm: 'tdes' | 'aes', lengthBytes: number) =>
  new BlockKey(algorithm, fromHex(`${KEY}89ABCDEF01234567${KEY}`).subarray(0, lengthBytes));

/** MACs of the text by OpenSSL 3, whole. */
const BY_OPENSSL: Readonly<Record<MacAlgorithmName, readonly [BlockKey, string]>> = {
  'x9.9': [key('tdes', 8), '63CC9C36D0EDBC0A'],
  'x9.19': [key('tdes', 16), '49CE624EA4C0DF7E'],
  'iso9797-1-algorithm-3-padding-2': [key('tdes', 16), 'A201C021E41BDD33'],
  'tdes-cbc-mac': [key('tdes', 16), '1112EBC959CE95F8'],
  'tdes-cmac': [key('tdes', 16), '158F81E777FB89A0'],
  'aes-cmac': [key('aes', 16), 'E86A94399D78D41FA54E19C1E8252356'],
};

const EVERY_KEY = [key('tdes', 8), key('tdes', 16), key('tdes', 24), key('aes', 16), key('aes', 24), key('aes', 32)];

/** The lengths that each algorithm takes. */
const TAKEN: Readonly<Record<MacAlgorithmName, string>> = {
  'x9.9': 'tdes8',
  'x9.19': 'tdes16',
  'iso9797-1-algorithm-3-padding-2': 'tdes16',
  'tdes-cbc-mac': 'tdes16 tdes24',
  'tdes-cmac': 'tdes16 tdes24',
  'aes-cmac': 'aes16 aes24 aes32',
};

describe.each(MAC_ALGORITHM_NAMES)('the MAC algorithm %s', (name) => {
  test('gives the MAC of OpenSSL', () => {
    const [macKey, expected] = BY_OPENSSL[name];
    expect(toHex(keyMac(macKey, MAC_ALGORITHMS[name])(TEXT))).toBe(expected);
  });

  test('takes keys of its lengths, and none of another algorithm instead', () => {
    const taken = EVERY_KEY.filter((each) => {
      try {
        keyMac(each, MAC_ALGORITHMS[name]);
        return true;
      } catch (error) {
        expect(error).toEqual(new CryptoError('KEY_LENGTH'));
        return false;
      }
    });
    expect(taken.map(({ algorithm, lengthBytes }) => `${algorithm}${lengthBytes}`).join(' ')).toBe(TAKEN[name]);
  });

  test('has one name, and a key that can be generated', () => {
    expect(namesOfMac(MAC_ALGORITHMS[name])).toEqual([name]);
    const { bytes, algorithm } = demoKey('any', 'mac', keyShapeOf(MAC_ALGORITHMS[name]));
    expect(() => keyMac(new BlockKey(algorithm, bytes.reveal()), MAC_ALGORITHMS[name])).not.toThrow();
  });

  test('is listed for operators', () => {
    expect(readFileSync('processors/README.md', 'utf8')).toContain(`\`${name}\``);
  });
});

test('a method without lengths of keys has the names between which the key decides', () => {
  expect(namesOfMac({ algorithm: 'cbc', padding: 1 })).toEqual(['x9.9', 'tdes-cbc-mac']);
});

test('an HSM that has computed one algorithm with a key does not compute the other one with it', () => {
  const hsm = new SoftHsm({ environment: 'dev', keys: [demoKey('pair', 'mac')] });
  expect(hsm.keyMac('pair', MAC_ALGORITHMS['tdes-cbc-mac'])(TEXT)).toHaveLength(8);
  expect(() => hsm.keyMac('pair', MAC_ALGORITHMS['x9.9'])).toThrow(new CryptoError('KEY_LENGTH'));
});
