import { describe, expect, test } from 'vitest';
import { CryptoError } from '../../src/basics/errors.ts';
import { fromHex, toHex } from '../../src/codecs/bytes/hex.ts';
import { BlockKey } from '../../src/codecs/crypto/block-key.ts';
import {
  type AesDukptUsage,
  deriveAesInitialKey,
  deriveAesTransactionKey,
  deriveAesWorkingKey,
} from '../../src/codecs/crypto/dukpt-aes.ts';
import {
  deriveTdesInitialKey,
  deriveTdesTransactionKey,
  deriveTdesWorkingKey,
  type TdesDukptUsage,
} from '../../src/codecs/crypto/dukpt-tdes.ts';

const aes = (hex: string) => new BlockKey('aes', fromHex(hex));
const bytesOf = (key: BlockKey) => key.useBytes((bytes) => toHex(bytes));

describe('TDES DUKPT', () => {
  const bdk = new BlockKey('tdes', fromHex('0123456789ABCDEFFEDCBA9876543210'));
  const initialKey = deriveTdesInitialKey(bdk, fromHex('FFFF9876543210E00000'));

  test('the initial key does not depend on the counter, the transaction key does', () => {
    expect(bytesOf(deriveTdesInitialKey(bdk, fromHex('FFFF9876543210FFFFFF')))).toBe(bytesOf(initialKey));
    const keys = ['FFFF9876543210E00001', 'FFFF9876543210E00002', 'FFFF9876543210E00003'].map((ksn) =>
      bytesOf(deriveTdesTransactionKey(initialKey, fromHex(ksn))),
    );
    expect(new Set(keys).size).toBe(3);
  });

  test('each use of a transaction has its own key', () => {
    const key = deriveTdesTransactionKey(initialKey, fromHex('FFFF9876543210E00001'));
    const usages: TdesDukptUsage[] = ['pin', 'macRequest', 'macResponse', 'dataRequest', 'dataResponse'];
    const keys = usages.map((usage) => bytesOf(deriveTdesWorkingKey(key, usage)));
    expect(new Set([bytesOf(key), ...keys]).size).toBe(6);
  });

  test('a counter that no device reaches is refused: zero, or more than ten one bits', () => {
    for (const ksn of ['FFFF9876543210E00000', 'FFFF9876543210E007FF', 'FFFF9876543210FFFFFF']) {
      expect(() => deriveTdesTransactionKey(initialKey, fromHex(ksn))).toThrow(new CryptoError('KSN'));
    }
    expect(bytesOf(deriveTdesTransactionKey(initialKey, fromHex('FFFF9876543210FFE000')))).toHaveLength(32);
    expect(bytesOf(deriveTdesTransactionKey(initialKey, fromHex('FFFF9876543210E003FF')))).toHaveLength(32);
  });

  test('a serial number of any other length is refused', () => {
    for (let length = 0; length <= 24; length++) {
      if (length === 10) continue;
      const ksn = new Uint8Array(length).fill(1);
      expect(() => deriveTdesInitialKey(bdk, ksn)).toThrow(new CryptoError('KSN'));
      expect(() => deriveTdesTransactionKey(initialKey, ksn)).toThrow(new CryptoError('KSN'));
    }
  });

  test('keys that are not double-length TDES are refused', () => {
    const ksn = fromHex('FFFF9876543210E00001');
    for (const key of [
      new BlockKey('tdes', new Uint8Array(8)),
      new BlockKey('tdes', new Uint8Array(24)),
      aes('00'.repeat(16)),
    ]) {
      expect(() => deriveTdesInitialKey(key, ksn)).toThrow(new CryptoError('KEY_LENGTH'));
      expect(() => deriveTdesTransactionKey(key, ksn)).toThrow(new CryptoError('KEY_LENGTH'));
      expect(() => deriveTdesWorkingKey(key, 'pin')).toThrow(new CryptoError('KEY_LENGTH'));
    }
  });

  test('the given serial number is not modified', () => {
    const ksn = fromHex('FFFF9876543210EFF801');
    deriveTdesTransactionKey(deriveTdesInitialKey(bdk, ksn), ksn);
    expect(toHex(ksn)).toBe('FFFF9876543210EFF801');
  });
});

describe('AES DUKPT', () => {
  const initialKeyId = fromHex('1234567890123456');
  const ksn = fromHex('123456789012345600000001');
  const bdk = aes('FEDCBA9876543210F1F1F1F1F1F1F1F1');
  const initialKey = deriveAesInitialKey(bdk, initialKeyId);
  const transactionKey = deriveAesTransactionKey(initialKey, ksn);

  test('each use of a transaction has its own key', () => {
    const usages: AesDukptUsage[] = [
      'keyEncryption',
      'pin',
      'macGeneration',
      'macVerification',
      'macBothWays',
      'dataEncryption',
      'dataDecryption',
      'dataBothWays',
    ];
    const keys = usages.map((usage) => bytesOf(deriveAesWorkingKey(transactionKey, ksn, usage)));
    expect(new Set(keys).size).toBe(8);
  });

  test('a TDES working key can be derived, an AES one stronger than its source cannot', () => {
    const tdes = deriveAesWorkingKey(transactionKey, ksn, 'pin', '2TDEA');
    expect(tdes).toMatchObject({ algorithm: 'tdes', lengthBytes: 16 });
    expect(deriveAesWorkingKey(transactionKey, ksn, 'pin', '3TDEA')).toMatchObject({
      algorithm: 'tdes',
      lengthBytes: 24,
    });
    for (const keyType of ['AES192', 'AES256'] as const) {
      const stronger = () => deriveAesWorkingKey(transactionKey, ksn, 'pin', keyType);
      expect(stronger).toThrow(new CryptoError('KEY_TOO_WEAK'));
    }
  });

  test('an AES-192 base key gives AES-192 keys all the way down', () => {
    const initial = deriveAesInitialKey(aes('FEDCBA9876543210F1F1F1F1F1F1F1F10123456789ABCDEF'), initialKeyId);
    const key = deriveAesTransactionKey(initial, ksn);
    expect([initial, key, deriveAesWorkingKey(key, ksn, 'pin')].map(({ lengthBytes }) => lengthBytes)).toEqual([
      24, 24, 24,
    ]);
  });

  test('a counter that no device reaches is refused: zero, or more than sixteen one bits', () => {
    for (const counter of ['00000000', '0001FFFF', 'FFFFFFFF', 'FFFF8001']) {
      const bad = fromHex(`1234567890123456${counter}`);
      expect(() => deriveAesTransactionKey(initialKey, bad)).toThrow(new CryptoError('KSN'));
      expect(() => deriveAesWorkingKey(transactionKey, bad, 'pin')).toThrow(new CryptoError('KSN'));
    }
    for (const counter of ['FFFF0000', '0000FFFF', '80000000']) {
      expect(deriveAesTransactionKey(initialKey, fromHex(`1234567890123456${counter}`)).lengthBytes).toBe(16);
    }
  });

  test('a serial number or initial key id of any other length is refused', () => {
    for (let length = 0; length <= 24; length++) {
      const bytes = new Uint8Array(length).fill(1);
      if (length !== 12) expect(() => deriveAesTransactionKey(initialKey, bytes)).toThrow(new CryptoError('KSN'));
      if (length === 8) continue;
      expect(() => deriveAesInitialKey(bdk, bytes)).toThrow(new CryptoError('KSN'));
    }
  });

  test('TDES keys are refused', () => {
    const tdes = new BlockKey('tdes', new Uint8Array(16));
    expect(() => deriveAesInitialKey(tdes, initialKeyId)).toThrow(new CryptoError('KEY_LENGTH'));
    expect(() => deriveAesTransactionKey(tdes, ksn)).toThrow(new CryptoError('KEY_LENGTH'));
    expect(() => deriveAesWorkingKey(tdes, ksn, 'pin')).toThrow(new CryptoError('KEY_LENGTH'));
    expect(() => deriveAesWorkingKey(tdes, ksn, 'pin', '2TDEA')).toThrow(new CryptoError('KEY_LENGTH'));
  });
});
