import { inspect } from 'node:util';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { fromHex, toHex } from '../../src/bytes/hex.ts';
import { Secret } from '../../src/bytes/secret.ts';
import { BlockKey, type KeyAlgorithm } from '../../src/crypto/block-key.ts';
import { hasOddParity } from '../../src/crypto/des-parity.ts';
import type { EncipheredPin, KeyUsage, MacRequest, TranslatePinRequest } from '../../src/crypto/hsm.ts';
import { kcv } from '../../src/crypto/kcv.ts';
import { keyMac } from '../../src/crypto/mac.ts';
import { decipherPin, encipherPin, type OnlinePinFormat, parsePin } from '../../src/crypto/pin-block.ts';
import { SoftHsm } from '../../src/crypto/soft-hsm.ts';
import { SOFT_KEYS_MOST } from '../../src/crypto/soft-key-store.ts';
import { wrapTr31 } from '../../src/crypto/tr31.ts';
import { CryptoError } from '../../src/errors.ts';

const PAN = '4111111111111111';
const KEYS = {
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
type KeyId = keyof typeof KEYS;

const blockKey = (keyId: KeyId) => new BlockKey(KEYS[keyId][1], fromHex(KEYS[keyId][2]));
const newHsm = (environment = 'dev') =>
  new SoftHsm({
    environment,
    keys: Object.entries(KEYS).map(([keyId, [usage, algorithm, hex]]) => {
      return { keyId, usage, algorithm, bytes: new Secret(fromHex(hex)) };
    }),
  });
const hsm = newHsm();
const refusal = (code: CryptoError['code']) => new CryptoError(code);

/** A published PIN block: 1234 of 4012345678909 under TDES DUKPT (ANSI X9.24-1:2009 A.4). */
const readerPin: EncipheredPin = {
  keyId: 'tdesBdk',
  ksn: fromHex('FFFF9876543210E00001'),
  format: 0,
  block: fromHex('1B9C1845EB993A7A'),
};
const READER_PAN = '4012345678909';

describe('construction', () => {
  test('production is refused, and so is an environment that is not named', () => {
    for (const environment of ['prod', 'production', 'PROD', 'Dev', '', 'constructor']) {
      expect(() => newHsm(environment)).toThrow(refusal('SOFT_HSM_FORBIDDEN'));
    }
    expect(() => newHsm('qa')).not.toThrow();
  });

  test('keys that are too short for their use, or single DES in disguise, are refused', () => {
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

  test('two keys cannot have one id, and there is a most of keys', async () => {
    const full = new SoftHsm({
      environment: 'dev',
      keys: Array.from({ length: SOFT_KEYS_MOST }, (_, number) => {
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

  test('nothing of a key is shown when the module is printed', () => {
    const shown = inspect(hsm, { depth: 9, showHidden: true }) + JSON.stringify(hsm);
    expect(shown.toUpperCase()).not.toMatch(/0123456789ABCDEF|01 23 45 67/);
    expect(shown).not.toContain('tdesBdk');
  });
});

describe('translating a PIN', () => {
  const from = (keyId: KeyId, format: OnlinePinFormat, pin: string, pan = PAN): EncipheredPin => {
    return { keyId, format, block: encipherPin(format, parsePin(pin), pan, blockKey(keyId)) };
  };

  test('a published block of a DUKPT reader arrives under a zone key in formats 0 and 3, under an AES zone key in 4', async () => {
    for (const [keyId, format] of [
      ['zone', 0],
      ['zone', 3],
      ['aesZone', 4],
    ] as const) {
      const { block, ksn } = await hsm.translatePin({ from: readerPin, to: { keyId, format }, pan: READER_PAN });
      expect(decipherPin(format, block, READER_PAN, blockKey(keyId)).reveal().join('')).toBe('1234');
      expect(ksn).toBeUndefined();
    }
  });

  test('a published block of an AES DUKPT reader arrives under a zone key', async () => {
    const ksn = fromHex('123456789012345600000001');
    const block = fromHex('A912150391AB65A67E52883D81CE2D15');
    const translated = await hsm.translatePin({
      from: { keyId: 'aesBdk', ksn, format: 4, block },
      to: { keyId: 'zone', format: 0 },
      pan: PAN,
    });
    expect(decipherPin(0, translated.block, PAN, blockKey('zone')).reveal().join('')).toBe('1234');
  });

  test('a PIN goes out under DUKPT with the KSN it was asked for, which opens it again', async () => {
    const outward = [
      { keyId: 'tdesBdk', ksn: fromHex('FFFF9876543210EFF801'), format: 0 },
      { keyId: 'aesBdk', ksn: fromHex('1234567890123456FFFF0000'), format: 4 },
      { keyId: 'aes256Bdk', ksn: fromHex('123456789012345600020001'), format: 4 },
      { keyId: 'aes256Bdk', ksn: fromHex('123456789012345600020001'), format: 4, keyType: 'AES128' },
      { keyId: 'aesBdk', ksn: fromHex('123456789012345600020001'), format: 3, keyType: '2TDEA' },
    ] as const;
    for (const to of outward) {
      const { block, ksn } = await hsm.translatePin({ from: from('zone', 0, '98765'), to, pan: PAN });
      expect(ksn).toEqual(to.ksn);
      const back = await hsm.translatePin({ from: { ...to, block }, to: { keyId: 'zone', format: 0 }, pan: PAN });
      expect(decipherPin(0, back.block, PAN, blockKey('zone')).reveal().join('')).toBe('98765');
    }
  });

  test('any PIN comes through from any format to any that is allowed', async () => {
    const pins = fc
      .array(fc.integer({ min: 0, max: 9 }), { minLength: 4, maxLength: 12 })
      .map((digits) => digits.join(''));
    const keyFor = (format: OnlinePinFormat) => (format === 4 ? 'aesZone' : 'zone');
    await fc.assert(
      fc.asyncProperty(pins, fc.constantFrom(0, 1, 3, 4), fc.constantFrom(0, 3, 4), async (pin, source, target) => {
        const { block } = await hsm.translatePin({
          from: from(keyFor(source), source, pin),
          to: { keyId: keyFor(target), format: target },
          pan: PAN,
        });
        expect(
          decipherPin(target, block, PAN, blockKey(keyFor(target)))
            .reveal()
            .join(''),
        ).toBe(pin);
      }),
    );
  });

  test('nothing goes out in format 1 or 2, whatever it came in', async () => {
    for (const source of [0, 1, 3] as const) {
      for (const format of [1, 2, 5, -1]) {
        const to = { keyId: 'zone', format } as unknown as TranslatePinRequest['to'];
        const translated = hsm.translatePin({ from: from('zone', source, '1234'), to, pan: PAN });
        await expect(translated).rejects.toThrow(refusal('PIN_BLOCK'));
      }
    }
  });

  test('everything that is wrong with a block is the one same error', async () => {
    const to = { keyId: 'zone', format: 0 } as const;
    const good = from('zone', 0, '1234');
    const wrong: [EncipheredPin, string][] = [
      [{ ...good, block: blockKey('zone').encrypt(fromHex('0312310000000000')) }, PAN],
      [{ ...good, block: new Uint8Array(8) }, PAN],
      [{ ...good, block: new Uint8Array(0) }, PAN],
      [{ ...good, block: new Uint8Array(16) }, PAN],
      [{ ...good, format: 3 }, PAN],
      [{ ...good, format: 2 as 0 }, PAN],
      [{ ...good, keyId: 'aesZone', format: 4, block: new Uint8Array(16) }, PAN],
      [good, '5413330089010640'],
      [good, '411111'],
      [{ ...readerPin, ksn: fromHex('FFFF9876543210E00002') }, READER_PAN],
    ];
    const texts = new Set<string>();
    for (const [source, pan] of wrong) {
      const error = await hsm.translatePin({ from: source, to, pan }).catch((thrown: unknown) => thrown);
      texts.add(JSON.stringify({ text: String(error), ...(error as CryptoError) }));
    }
    const one = refusal('PIN_BLOCK');
    expect([...texts]).toEqual([JSON.stringify({ text: String(one), ...one })]);
  });

  test('a KSN of another length or with an impossible counter is refused', async () => {
    for (const ksn of ['', 'FFFF9876543210E000', 'FFFF9876543210E00000', '123456789012345600000001']) {
      const translated = hsm.translatePin({
        from: { ...readerPin, ksn: fromHex(ksn) },
        to: { keyId: 'zone', format: 0 },
        pan: READER_PAN,
      });
      await expect(translated).rejects.toThrow(refusal('KSN'));
    }
  });

  test('keys are used for what they are for and nothing else', async () => {
    const good = from('zone', 0, '1234');
    const attempts: [EncipheredPin, TranslatePinRequest['to']][] = [
      [
        { ...good, keyId: 'mac' },
        { keyId: 'zone', format: 0 },
      ],
      [
        { ...good, keyId: 'tdesBdk' },
        { keyId: 'zone', format: 0 },
      ],
      [good, { keyId: 'kek', format: 0 }],
      [good, { keyId: 'zone', format: 4 }],
      [good, { keyId: 'aesZone', format: 0 }],
      [good, { keyId: 'zone', ksn: fromHex('FFFF9876543210E00001'), format: 0 }],
      [good, { keyId: 'aesBdk', ksn: fromHex('123456789012345600000001'), format: 0 }],
    ];
    for (const [source, to] of attempts) {
      await expect(hsm.translatePin({ from: source, to, pan: PAN })).rejects.toThrow(refusal('KEY_USAGE'));
    }
    const unknown = hsm.translatePin({
      from: { ...good, keyId: 'toString' },
      to: { keyId: 'zone', format: 0 },
      pan: PAN,
    });
    await expect(unknown).rejects.toThrow(refusal('KEY_UNKNOWN'));
  });
});

describe('MACs', () => {
  const message = Buffer.from('0800822000000000000004000000000000001121142715000001301');
  const request: MacRequest = { keyId: 'mac', method: { algorithm: 'retail', padding: 1 }, message, lengthBytes: 8 };

  test('the MAC is the leftmost bytes of the method asked for', async () => {
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

  test('a MAC of another length than agreed is not verified, were it right as far as it goes', async () => {
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
    expect(() => hsm.keyMac('nobody', request.method)).toThrow(refusal('KEY_UNKNOWN'));
    await expect(hsm.mac({ ...request, keyId: 'x99' })).rejects.toThrow(refusal('KEY_LENGTH'));
  });

  test('a MAC function stops working when its key is forgotten', async () => {
    const own = newHsm();
    const mac = own.keyMac('mac', request.method);
    expect(mac(message)).toHaveLength(8);
    await own.forgetKey('mac');
    await own.forgetKey('mac');
    expect(() => mac(message)).toThrow(refusal('KEY_UNKNOWN'));
  });
});

describe('importing a key', () => {
  const zone = fromHex('EC86F77A5DB50B45F2F8A2E63DC48A01');
  const cryptogramOf = (bytes: Uint8Array) => blockKey('kek').encrypt(bytes);
  const kcvOf = (bytes: Uint8Array) => kcv(new BlockKey('tdes', bytes));
  const imported = (
    own: SoftHsm,
    bytes: Uint8Array,
    more: { kcv?: string; parity?: 'odd' | 'any'; usage?: KeyUsage } = {},
  ) =>
    own.importKey({
      keyId: 'zone.2',
      usage: 'pin',
      transportKeyId: 'kek',
      cryptogram: cryptogramOf(bytes),
      kcv: kcvOf(bytes),
      ...more,
    });

  test('a cryptogram under a KEK becomes a key that works, beside the one it will replace', async () => {
    const own = newHsm();
    expect(hasOddParity(zone)).toBe(true);
    const described = await imported(own, zone);
    expect(described).toEqual({ keyId: 'zone.2', usage: 'pin', algorithm: 'tdes', lengthBytes: 16, kcv: kcvOf(zone) });
    expect(await own.kcv('zone.2')).toBe(kcvOf(zone));
    for (const keyId of ['zone', 'zone.2']) {
      const { block } = await own.translatePin({ from: readerPin, to: { keyId, format: 0 }, pan: READER_PAN });
      const key = keyId === 'zone' ? blockKey('zone') : new BlockKey('tdes', zone);
      expect(decipherPin(0, block, READER_PAN, key).reveal().join('')).toBe('1234');
    }
  });

  test('a check value in lower case is the same check value, any other is refused', async () => {
    await expect(imported(newHsm(), zone, { kcv: kcvOf(zone).toLowerCase() })).resolves.toBeDefined();
    for (const wrong of ['', '00', '000000', kcvOf(zone).slice(0, 4), `${kcvOf(zone)}00`, 'zzzzzz']) {
      await expect(imported(newHsm(), zone, { kcv: wrong })).rejects.toThrow(refusal('KEY_CHECK_VALUE'));
    }
  });

  test('even parity is refused, in each byte, unless the sender is known not to set it', async () => {
    for (let position = 0; position < 16; position++) {
      const even = Uint8Array.from(zone);
      even[position]! ^= 1;
      await expect(imported(newHsm(), even)).rejects.toThrow(refusal('KEY_PARITY'));
      await expect(imported(newHsm(), even, { parity: 'any' })).resolves.toBeDefined();
    }
  });

  test('a cryptogram with one half put in twice is refused', async () => {
    const own = newHsm();
    const half = zone.subarray(0, 8);
    const twice = new Uint8Array([...half, ...half]);
    await expect(imported(own, twice)).rejects.toThrow(refusal('KEY_TOO_WEAK'));
  });

  test('lengths that are no TDES key are refused, single DES for all but MACs, and what is stronger than its KEK', async () => {
    const own = newHsm();
    const request = { keyId: 'k', transportKeyId: 'kek', kcv: '000000', usage: 'mac' } as const;
    for (const length of [0, 32, 40]) {
      const cryptogram = new Uint8Array(length);
      await expect(own.importKey({ ...request, cryptogram })).rejects.toThrow(refusal('KEY_LENGTH'));
    }
    for (const length of [1, 7, 15, 17]) {
      const cryptogram = new Uint8Array(length);
      await expect(own.importKey({ ...request, cryptogram })).rejects.toThrow(refusal('DATA_LENGTH'));
    }
    await expect(imported(own, zone.subarray(0, 8))).rejects.toThrow(refusal('KEY_LENGTH'));
    await expect(imported(own, zone.subarray(0, 8), { usage: 'mac' })).resolves.toMatchObject({ lengthBytes: 8 });
    const triple = new Uint8Array([...zone, ...fromHex('0123456789ABCDEF')]);
    await expect(imported(own, triple)).rejects.toThrow(refusal('KEY_TOO_WEAK'));
  });

  test('cryptograms come under KEKs and key blocks under key block protection keys', async () => {
    const own = newHsm();
    const cryptogram = cryptogramOf(zone);
    for (const transportKeyId of ['tdesKbpk', 'zone', 'mac']) {
      const request = { keyId: 'k', usage: 'pin', transportKeyId, cryptogram, kcv: kcvOf(zone) } as const;
      await expect(own.importKey(request)).rejects.toThrow(refusal('KEY_USAGE'));
    }
    const block =
      'B0104B0TX12S0100KS1800604B120F9292800000BB68BE8680A400D9191AD4ECE45B6E6C0D21C4738A52190E248719E24B433627';
    for (const transportKeyId of ['kek', 'zone', 'mac', 'aesKbpk']) {
      const request = { keyId: 'k', usage: 'dukptBase', transportKeyId, block } as const;
      await expect(own.importKey(request)).rejects.toThrow(refusal('KEY_USAGE'));
    }
  });

  test('published key blocks are taken in, with their check values compared', async () => {
    const own = newHsm();
    const base = {
      keyId: 'bdk',
      usage: 'dukptBase',
      transportKeyId: 'tdesKbpk',
      block: 'B0104B0TX12S0100KS1800604B120F9292800000BB68BE8680A400D9191AD4ECE45B6E6C0D21C4738A52190E248719E24B433627',
    } as const;
    await expect(own.importKey({ ...base, kcv: '9A4213' })).rejects.toThrow(refusal('KEY_CHECK_VALUE'));
    await expect(own.importKey({ ...base, usage: 'pin' })).rejects.toThrow(refusal('KEY_USAGE'));
    await expect(own.importKey({ ...base, kcv: '9A4212' })).resolves.toMatchObject({
      usage: 'dukptBase',
      kcv: '9A4212',
    });
    const aes = await own.importKey({
      keyId: 'aes',
      usage: 'pin',
      transportKeyId: 'aesKbpk',
      block:
        'D0144P0AE00E00002C77FA3F4A553BED6E88AE5C172A4166E3D4ACA8E2AC71C158A476FAC12C13C3829DE55D3AB54C48F4C4FEF7AC75E90FC47F1B77E7B19A73ED46E64410082557',
      kcv: '08793E25AB',
    });
    expect(aes).toEqual({ keyId: 'aes', usage: 'pin', algorithm: 'aes', lengthBytes: 16, kcv: '08793E' });
  });

  test('a key does only what the mode of use in its key block allows', async () => {
    const own = newHsm();
    const put = (keyId: string, usage: 'pin' | 'mac', keyUsage: string, modeOfUse: string) => {
      const header = {
        version: 'D',
        keyUsage,
        algorithm: 'T',
        modeOfUse,
        keyVersion: '00',
        exportability: 'N',
      } as const;
      const block = wrapTr31(new BlockKey('tdes', zone), header, blockKey('aesKbpk'));
      return own.importKey({ keyId, usage, transportKeyId: 'aesKbpk', block });
    };
    await put('out', 'pin', 'P0', 'E');
    await put('in', 'pin', 'P0', 'D');
    const { block } = await own.translatePin({ from: readerPin, to: { keyId: 'out', format: 0 }, pan: READER_PAN });
    const inward = { keyId: 'in', format: 0, block } as const;
    const back = { keyId: 'zone', format: 0 } as const;
    await expect(own.translatePin({ from: inward, to: back, pan: READER_PAN })).resolves.toBeDefined();
    for (const request of [
      { from: { ...inward, keyId: 'out' }, to: back },
      { from: inward, to: { ...back, keyId: 'in' } },
    ]) {
      await expect(own.translatePin({ ...request, pan: READER_PAN })).rejects.toThrow(refusal('KEY_USAGE'));
    }

    const request = { method: { algorithm: 'retail', padding: 1 }, message: zone, lengthBytes: 8 } as const;
    await put('make', 'mac', 'M3', 'G');
    await put('check', 'mac', 'M3', 'V');
    const mac = await own.mac({ ...request, keyId: 'make' });
    expect(await own.verifyMac({ ...request, keyId: 'check', mac })).toBe(true);
    await expect(own.mac({ ...request, keyId: 'check' })).rejects.toThrow(refusal('KEY_USAGE'));
    await expect(own.verifyMac({ ...request, keyId: 'make', mac })).rejects.toThrow(refusal('KEY_USAGE'));
    for (const keyId of ['make', 'check']) {
      expect(() => own.keyMac(keyId, request.method)).toThrow(refusal('KEY_USAGE'));
    }
    await put('cmac', 'mac', 'M6', 'C');
    await expect(own.mac({ ...request, keyId: 'cmac' })).rejects.toThrow(refusal('KEY_USAGE'));
    await expect(own.mac({ ...request, keyId: 'cmac', method: { algorithm: 'cmac' } })).resolves.toHaveLength(8);

    for (const [keyUsage, modeOfUse] of [
      ['D0', 'B'],
      ['V2', 'V'],
      ['__', 'N'],
      ['P0', 'S'],
      ['P0', '0'],
    ] as const) {
      await expect(put('other', 'pin', keyUsage, modeOfUse)).rejects.toThrow(refusal('KEY_BLOCK_UNSUPPORTED'));
    }
  });

  test('an AES key under a TDES key block protection key is refused as too weakly carried', async () => {
    const header = {
      version: 'B',
      keyUsage: 'P0',
      algorithm: 'A',
      modeOfUse: 'B',
      keyVersion: '00',
      exportability: 'N',
    } as const;
    const block = wrapTr31(blockKey('aesZone'), header, blockKey('tdesKbpk'));
    const request = { keyId: 'k', usage: 'pin', transportKeyId: 'tdesKbpk', block } as const;
    await expect(newHsm().importKey(request)).rejects.toThrow(refusal('KEY_TOO_WEAK'));
  });

  test('a key that was refused leaves nothing behind', async () => {
    const own = newHsm();
    await expect(imported(own, zone, { kcv: '000000' })).rejects.toThrow(refusal('KEY_CHECK_VALUE'));
    await expect(own.kcv('zone.2')).rejects.toThrow(refusal('KEY_UNKNOWN'));
    await expect(imported(own, zone)).resolves.toBeDefined();
    await expect(imported(own, zone)).rejects.toThrow(refusal('KEY_EXISTS'));
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

  test('a key of an impossible length, or stronger than what carries it, is refused', async () => {
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

  test('a PIN is verified whole: no beginning, no longer one, no other', async () => {
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

  test('a block that holds no PIN is no wrong PIN', async () => {
    const from = { keyId: 'zone', format: 0, block: new Uint8Array(8) } as const;
    await expect(hsm.verifyPin({ from, pan: PAN, pin: parsePin('1234') })).rejects.toThrow(refusal('PIN_BLOCK'));
  });
});
