import { inspect } from 'node:util';
import { describe, expect, test } from 'vitest';
import { CryptoError } from '../../src/basics/errors.ts';
import { fromHex, toHex } from '../../src/codecs/bytes/hex.ts';
import { Secret } from '../../src/codecs/bytes/secret.ts';
import type { KeyUsage, MacRequest } from '../../src/codecs/crypto/hsm.ts';
import { keyMac } from '../../src/codecs/crypto/mac.ts';
import { encipherPin, parsePin } from '../../src/codecs/crypto/pin-block.ts';
import { MAX_SOFT_KEYS, SoftHsm } from '../../src/codecs/crypto/soft-hsm.ts';
import { blockKey, KEYS, newHsm, READER_PAN, readerPin } from './test-keys.ts';

const PAN = '4111111111111111';
const hsm = newHsm();
const refusal = (code: CryptoError['code']) => new CryptoError(code);

describe('construction', () => {
  test('production is refused, and so is an unknown environment', () => {
    for (const environment of ['prod', 'production', 'PROD', 'Dev', '', 'constructor']) {
      expect(() => newHsm(environment)).toThrow(refusal('SOFT_HSM_FORBIDDEN'));
    }
    expect(() => newHsm('qa')).not.toThrow();
  });

  test('keys that are too short for their use, or equivalent to single DES, are refused', () => {
    const withKey = (usage: KeyUsage, hex: string) => () =>
      new SoftHsm({
        environment: 'dev',
        keys: [{ keyId: 'k', usage, algorithm: 'tdes', bytes: new Secret(fromHex(hex)) }],
      });
    for (const usage of ['pin', 'dukptBase', 'keyEncryption', 'keyBlockProtection'] as const) {
      expect(withKey(usage, '0123456789ABCDEF')).toThrow(refusal('KEY_LENGTH'));
    }
    expect(withKey('dukptBase', '0123456789ABCDEFFEDCBA98765432101122334455667788')).toThrow(refusal('KEY_LENGTH'));
    expect(withKey('pin', '0123456789ABCDEF0123456789ABCDEF')).toThrow(refusal('KEY_TOO_WEAK'));
    expect(withKey('pin', '0123456789ABCDEF0022446688AACCEE')).toThrow(refusal('KEY_TOO_WEAK'));
    expect(withKey('mac', 'FEDCBA98765432100123456789ABCDEF0123456789ABCDEF')).toThrow(refusal('KEY_TOO_WEAK'));
    expect(withKey('mac', '0123456789ABCDEF')).not.toThrow();
  });

  test('two keys cannot have one id, and the number of keys is limited', async () => {
    const full = new SoftHsm({
      environment: 'dev',
      keys: Array.from({ length: MAX_SOFT_KEYS }, (_, number) => {
        return {
          keyId: `k${number}`,
          usage: 'keyEncryption',
          algorithm: 'tdes',
          bytes: new Secret(fromHex(KEYS.kek[2])),
        };
      }),
    });
    const request = { usage: 'pin', algorithm: 'tdes', lengthBytes: 16, transportKeyId: 'k0' } as const;
    await expect(full.generateKey({ ...request, keyId: 'k1' })).rejects.toThrow(refusal('KEY_EXISTS'));
    await expect(full.generateKey({ ...request, keyId: 'new' })).rejects.toThrow(refusal('TOO_MANY_KEYS'));
    await full.forgetKey('k1');
    await expect(full.generateKey({ ...request, keyId: 'new' })).resolves.toMatchObject({ keyId: 'new' });
  });

  test('the printed module shows nothing of a key', () => {
    const shown = inspect(hsm, { depth: 9, showHidden: true }) + JSON.stringify(hsm);
    expect(shown.toUpperCase()).not.toMatch(/0123456789ABCDEF|01 23 45 67/);
    expect(shown).not.toContain('tdesBdk');
  });
});

describe('MACs', () => {
  const message = Buffer.from('0800822000000000000004000000000000001121142715000001301');
  const request: MacRequest = { keyId: 'mac', method: { algorithm: 'retail', padding: 1 }, message, lengthBytes: 8 };

  test('the MAC is the leftmost bytes of the requested method', async () => {
    for (const [keyId, method, lengthBytes] of [
      ['mac', { algorithm: 'retail', padding: 2 }, 4],
      ['x99', { algorithm: 'cbc', padding: 1 }, 4],
      ['aesMac', { algorithm: 'cmac' }, 16],
      ['mac', { algorithm: 'cmac' }, 8],
    ] as const) {
      const expected = toHex(keyMac(blockKey(keyId), method)(message), 0, lengthBytes);
      expect(toHex(await hsm.mac({ keyId, method, message, lengthBytes }))).toBe(expected);
      expect(toHex(hsm.keyMac(keyId, method)(message), 0, lengthBytes)).toBe(expected);
    }
  });

  test('a MAC is verified, and with any bit changed it is not', async () => {
    const mac = await hsm.mac(request);
    expect(await hsm.verifyMac({ ...request, mac })).toBe(true);
    for (let bit = 0; bit < 64; bit++) {
      const other = Uint8Array.from(mac);
      other[bit >> 3]! ^= 1 << (bit & 7);
      expect(await hsm.verifyMac({ ...request, mac: other })).toBe(false);
    }
    expect(await hsm.verifyMac({ ...request, message: message.subarray(1), mac })).toBe(false);
  });

  test('a MAC of another length than agreed is not verified, even if its bytes are right', async () => {
    const mac = await hsm.mac(request);
    for (let length = 0; length < 8; length++) {
      expect(await hsm.verifyMac({ ...request, mac: mac.subarray(0, length) })).toBe(false);
    }
    expect(await hsm.verifyMac({ ...request, lengthBytes: 4, mac: mac.subarray(0, 4) })).toBe(true);
    expect(await hsm.verifyMac({ ...request, lengthBytes: 4, mac })).toBe(false);
  });

  test('a length under 4 bytes or beyond the MAC is refused', async () => {
    for (const lengthBytes of [-1, 0, 3, 4.5, 9, Number.NaN]) {
      await expect(hsm.mac({ ...request, lengthBytes })).rejects.toThrow(refusal('DATA_LENGTH'));
      const verified = hsm.verifyMac({ ...request, lengthBytes, mac: new Uint8Array(0) });
      await expect(verified).rejects.toThrow(refusal('DATA_LENGTH'));
    }
  });

  test('only MAC keys make MACs', async () => {
    for (const keyId of ['zone', 'kek', 'tdesBdk']) {
      await expect(hsm.mac({ ...request, keyId })).rejects.toThrow(refusal('KEY_USAGE'));
      expect(() => hsm.keyMac(keyId, request.method)).toThrow(refusal('KEY_USAGE'));
    }
    expect(() => hsm.keyMac('unknown', request.method)).toThrow(refusal('KEY_UNKNOWN'));
    await expect(hsm.mac({ ...request, keyId: 'x99' })).rejects.toThrow(refusal('KEY_LENGTH'));
  });

  test('a MAC function stops working when its key is removed', async () => {
    const own = newHsm();
    const mac = own.keyMac('mac', request.method);
    expect(mac(message)).toHaveLength(8);
    await own.forgetKey('mac');
    await own.forgetKey('mac');
    expect(() => mac(message)).toThrow(refusal('KEY_UNKNOWN'));
  });
});

describe("the switch's side", () => {
  test('a generated key reaches the other side as a cryptogram or a key block, and both then agree', async () => {
    for (const [transportKeyId, algorithm, lengthBytes] of [
      ['kek', 'tdes', 16],
      ['tdesKbpk', 'tdes', 16],
      ['aesKbpk', 'tdes', 24],
      ['aesKbpk', 'aes', 16],
      ['aesKbpk', 'aes', 32],
    ] as const) {
      const theirs = newHsm();
      const ours = newHsm();
      for (const usage of ['pin', 'mac'] as const) {
        const generated = await theirs.generateKey({ keyId: usage + 2, usage, algorithm, lengthBytes, transportKeyId });
        const carried = 'block' in generated ? { block: generated.block } : { cryptogram: generated.cryptogram };
        const taken = await ours.importKey({
          keyId: `our-${usage}`,
          usage,
          transportKeyId,
          kcv: generated.kcv,
          ...carried,
        });
        expect(taken).toMatchObject({ usage, algorithm, lengthBytes, kcv: generated.kcv });
        expect(await theirs.kcv(usage + 2)).toBe(generated.kcv);
      }
      const method = {
        algorithm: algorithm === 'aes' ? 'cmac' : lengthBytes === 16 ? 'retail' : 'cbc',
        padding: 1,
      } as const;
      const message = fromHex('0800');
      const mac = await theirs.mac({ keyId: 'mac2', method, message, lengthBytes: 8 });
      expect(await ours.verifyMac({ keyId: 'our-mac', method, message, lengthBytes: 8, mac })).toBe(true);
    }
  });

  test('a single-length X9.9 key can be generated for MACs alone', async () => {
    const own = newHsm();
    const request = { keyId: 'k', algorithm: 'tdes', lengthBytes: 8, transportKeyId: 'tdesKbpk' } as const;
    await expect(own.generateKey({ ...request, usage: 'pin' })).rejects.toThrow(refusal('KEY_LENGTH'));
    const generated = await own.generateKey({ ...request, usage: 'mac' });
    expect(generated).toMatchObject({ lengthBytes: 8, block: expect.stringMatching(/^B0096M1DC00N0000/) });
  });

  test('a key of an impossible length, or stronger than the key that enciphers it, is refused', async () => {
    const own = newHsm();
    const request = { keyId: 'k', usage: 'pin', algorithm: 'tdes', lengthBytes: 16, transportKeyId: 'kek' } as const;
    await expect(own.generateKey({ ...request, lengthBytes: 15 })).rejects.toThrow(refusal('KEY_LENGTH'));
    await expect(own.generateKey({ ...request, lengthBytes: 24 })).rejects.toThrow(refusal('KEY_TOO_WEAK'));
    await expect(own.generateKey({ ...request, algorithm: 'aes' })).rejects.toThrow(refusal('KEY_USAGE'));
    const aes = { ...request, algorithm: 'aes', transportKeyId: 'tdesKbpk' } as const;
    await expect(own.generateKey(aes)).rejects.toThrow(refusal('KEY_TOO_WEAK'));
    await expect(own.generateKey({ ...request, transportKeyId: 'zone' })).rejects.toThrow(refusal('KEY_USAGE'));
    await expect(own.generateKey({ ...request, transportKeyId: 'none' })).rejects.toThrow(refusal('KEY_UNKNOWN'));
    await expect(own.kcv('k')).rejects.toThrow(refusal('KEY_UNKNOWN'));
  });

  test('a PIN is verified as a whole: a prefix, a longer one and another one are wrong', async () => {
    const from = { keyId: 'zone', format: 0, block: encipherPin(0, parsePin('12345'), PAN, blockKey('zone')) } as const;
    for (const [pin, isRight] of [
      ['12345', true],
      ['1234', false],
      ['123450', false],
      ['12346', false],
      ['22345', false],
    ] as const) {
      expect(await hsm.verifyPin({ from, pan: PAN, pin: parsePin(pin) })).toBe(isRight);
    }
    const pin = parsePin('1234');
    expect(await hsm.verifyPin({ from: readerPin, pan: READER_PAN, pin })).toBe(true);
    expect(await hsm.verifyPin({ from: readerPin, pan: READER_PAN, pin })).toBe(true);
  });

  test('a block without a PIN is not a wrong PIN', async () => {
    const from = { keyId: 'zone', format: 0, block: new Uint8Array(8) } as const;
    await expect(hsm.verifyPin({ from, pan: PAN, pin: parsePin('1234') })).rejects.toThrow(refusal('PIN_BLOCK'));
  });
});
