import { expect, test } from 'vitest';
import { CryptoError } from '../../src/basics/errors.ts';
import { fromHex } from '../../src/codecs/bytes/hex.ts';
import { BlockKey, hasOddParity } from '../../src/codecs/crypto/block-key.ts';
import type { KeyUsage } from '../../src/codecs/crypto/hsm.ts';
import { kcv } from '../../src/codecs/crypto/mac.ts';
import { decipherPin } from '../../src/codecs/crypto/pin-block.ts';
import type { SoftHsm } from '../../src/codecs/crypto/soft-hsm.ts';
import { wrapTr31 } from '../../src/codecs/crypto/tr31.ts';
import { blockKey, newHsm, READER_PAN, readerPin } from './test-keys.ts';

const refusal = (code: CryptoError['code']) => new CryptoError(code);

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

test('a cryptogram under a KEK becomes a usable key, beside the one that it will replace', async () => {
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

test('even parity is refused, in each byte, unless the sender is known not to set parity', async () => {
  for (let position = 0; position < 16; position++) {
    const even = Uint8Array.from(zone);
    even[position]! ^= 1;
    await expect(imported(newHsm(), even)).rejects.toThrow(refusal('KEY_PARITY'));
    await expect(imported(newHsm(), even, { parity: 'any' })).resolves.toBeDefined();
  }
});

test('a cryptogram with two equal halves is refused', async () => {
  const own = newHsm();
  const half = zone.subarray(0, 8);
  const twice = new Uint8Array([...half, ...half]);
  await expect(imported(own, twice)).rejects.toThrow(refusal('KEY_TOO_WEAK'));
});

test('lengths that are not a TDES key are refused, and single DES except for MACs, and keys stronger than their KEK', async () => {
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

test('cryptograms require KEKs, and key blocks require key block protection keys', async () => {
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

test('published key blocks are imported, with their check values compared', async () => {
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

test('a key allows only the mode of use in its key block', async () => {
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

test('an AES key under a TDES key block protection key is refused as too weakly protected', async () => {
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
