import { fromHex } from '../../src/codecs/bytes/hex.ts';
import { Secret } from '../../src/codecs/bytes/secret.ts';
import { BlockKey, type KeyAlgorithm } from '../../src/codecs/crypto/block-key.ts';
import type { EncipheredPin, KeyUsage } from '../../src/codecs/crypto/hsm.ts';
import { SoftHsm } from '../../src/codecs/crypto/soft-hsm.ts';

export const KEYS = {
  kek: ['keyEncryption', 'tdes', '0123456789ABCDEFFEDCBA9876543210'],
  tdesKbpk: ['keyBlockProtection', 'tdes', '1D22BF32387C600AD97F9B97A51311AC'],
  aesKbpk: ['keyBlockProtection', 'aes', '88E1AB2A2E3DD38C1FA039A536500CC8A87AB9D62DC92C01058FA79F44657DE6'],
  zone: ['pin', 'tdes', '5DB50B454F8389ADCE573BE50861F2BF'],
  aesZone: ['pin', 'aes', '3F419E1CB7079442AA37474C2EFBF8B8'],
  tdesBdk: ['dukptBase', 'tdes', '0123456789ABCDEFFEDCBA9876543210'],
  aesBdk: ['dukptBase', 'aes', 'FEDCBA9876543210F1F1F1F1F1F1F1F1'],
  aes256Bdk: ['dukptBase', 'aes', 'FEDCBA9876543210F1F1F1F1F1F1F1F1FEDCBA9876543210F1F1F1F1F1F1F1F1'],
  mac: ['mac', 'tdes', '0123456789ABCDEFFEDCBA9876543210'],
  x99: ['mac', 'tdes', '0123456789ABCDEF'],
  aesMac: ['mac', 'aes', '2B7E151628AED2A6ABF7158809CF4F3C'],
} as const satisfies Record<string, readonly [KeyUsage, KeyAlgorithm, string]>;
export type KeyId = keyof typeof KEYS;

export const blockKey = (keyId: KeyId) => new BlockKey(KEYS[keyId][1], fromHex(KEYS[keyId][2]));
export const newHsm = (environment = 'dev') =>
  new SoftHsm({
    environment,
    keys: Object.entries(KEYS).map(([keyId, [usage, algorithm, hex]]) => {
      return { keyId, usage, algorithm, bytes: new Secret(fromHex(hex)) };
    }),
  });

/** A published PIN block: 1234 of 4012345678909 under TDES DUKPT (ANSI X9.24-1:2009 A.4). */
export const readerPin: EncipheredPin = {
  keyId: 'tdesBdk',
  ksn: fromHex('FFFF9876543210E00001'),
  format: 0,
  block: fromHex('1B9C1845EB993A7A'),
};
export const READER_PAN = '4012345678909';
