import { afterEach, describe, expect, test } from 'vitest';
import type { CryptoError } from '../../src/basics/errors.ts';
import { fromHex } from '../../src/codecs/bytes/hex.ts';
import { BlockKey } from '../../src/codecs/crypto/block-key.ts';
import {
  deriveTdesInitialKey,
  deriveTdesTransactionKey,
  deriveTdesWorkingKey,
} from '../../src/codecs/crypto/dukpt-tdes.ts';
import { kcv, keyMac, MAC_ALGORITHMS } from '../../src/codecs/crypto/mac.ts';
import { decipherPin, encipherPin, parsePin } from '../../src/codecs/crypto/pin-block.ts';
import { wrapTr31 } from '../../src/codecs/crypto/tr31.ts';
import type { LmkForm } from '../../src/tools/simulator/hsm/test-lmk.ts';
import { READER_PAN, readerPin } from '../crypto/test-keys.ts';
import { clearKey, Opened } from './support.ts';

const opened = new Opened();
afterEach(() => opened.closeAll());

const PAN = '4111111111111111';
const MESSAGE = Buffer.from('0200B220000100100000 and the rest of a message');

async function openHsm(form: LmkForm) {
  const { port } = await opened.simulator({ lmkForm: form });
  const hsm = await opened.hsm([port], { lmk: { form, id: '00' } });
  await expect.poll(() => hsm.deviceStates()[0]!.status, { interval: 5 }).toBe('ready');
  return hsm;
}

const digitsOf = (pin: ReturnType<typeof parsePin>) => [...pin.reveal()].join('');
const failsWith = (code: CryptoError['code']) => ({ name: 'CryptoError', code });

describe.each(['variant', 'keyBlock'] as const)('an Hsm of payShield devices with a %s LMK', (form) => {
  test('translates a PIN between zone keys, of each key type and each format', async () => {
    const hsm = await openHsm(form);
    for (const [keyId, from, to] of [
      ['zpk', 0, 3],
      ['tpk', 3, 0],
      ['tpk', 1, 0],
    ] as const) {
      const block = encipherPin(from, parsePin('12345'), PAN, clearKey(keyId));
      const translated = await hsm.translatePin({
        from: { keyId, format: from, block },
        to: { keyId: 'zpk', format: to },
        pan: PAN,
      });
      expect(translated.ksn).toBeUndefined();
      expect(digitsOf(decipherPin(to, translated.block, PAN, clearKey('zpk')))).toBe('12345');
    }
  });

  test("translates a reader's PIN under TDES DUKPT, with the published PIN block of ANSI X9.24", async () => {
    const hsm = await openHsm(form);
    const from = { ...readerPin, keyId: 'bdk' };
    const { block } = await hsm.translatePin({ from, to: { keyId: 'zpk', format: 0 }, pan: READER_PAN });
    expect(digitsOf(decipherPin(0, block, READER_PAN, clearKey('zpk')))).toBe('1234');
  });

  test("translates a reader's PIN to the base derivation key of an acquirer", async () => {
    const hsm = await openHsm(form);
    const { ksn } = readerPin;
    const from = { ...readerPin, keyId: 'bdk' };
    const translated = await hsm.translatePin({ from, to: { keyId: 'otherBdk', ksn, format: 3 }, pan: READER_PAN });
    expect(translated.ksn).toEqual(ksn);
    const key = deriveTdesTransactionKey(deriveTdesInitialKey(clearKey('otherBdk'), ksn!), ksn!);
    const pin = decipherPin(3, translated.block, READER_PAN, deriveTdesWorkingKey(key, 'pin'));
    expect(digitsOf(pin)).toBe('1234');
  });

  test('reports every fault of the PIN block or the PAN as PIN_BLOCK', async () => {
    const hsm = await openHsm(form);
    const to = { keyId: 'zpk', format: 0 } as const;
    const block = encipherPin(0, parsePin('1234'), PAN, clearKey('tpk'));
    const wrongs = [
      { from: { keyId: 'zpk', format: 0, block }, to, pan: PAN },
      { from: { keyId: 'tpk', format: 3, block }, to, pan: PAN },
      { from: { keyId: 'tpk', format: 0, block: new Uint8Array(7) }, to, pan: PAN },
      { from: { keyId: 'tpk', format: 0, block }, to, pan: '1234567' },
      { from: { keyId: 'tpk', format: 0, block }, to, pan: '41111111111X1111' },
    ] as const;
    for (const wrong of wrongs) await expect(hsm.translatePin(wrong)).rejects.toMatchObject(failsWith('PIN_BLOCK'));
    const shortKsn = { ...readerPin, keyId: 'bdk', ksn: new Uint8Array(9) };
    await expect(hsm.translatePin({ from: shortKsn, to, pan: PAN })).rejects.toMatchObject(failsWith('KSN'));
    expect(hsm.deviceStates()[0]).toMatchObject({ status: 'ready', circuitOpenings: 0 });
  });

  test('computes and verifies the MACs of the soft HSM', async () => {
    const hsm = await openHsm(form);
    for (const name of ['x9.19', 'iso9797-1-algorithm-3-padding-2', 'x9.9', 'tdes-cbc-mac'] as const) {
      const method = MAC_ALGORITHMS[name];
      const keyId = name === 'x9.9' ? 'x99' : 'zak';
      const expected = keyMac(clearKey(keyId), method)(MESSAGE);
      for (const lengthBytes of [4, 6, 8]) {
        const request = { keyId, method, message: MESSAGE, lengthBytes };
        const mac = await hsm.mac(request);
        expect(Buffer.from(mac)).toEqual(Buffer.from(expected.subarray(0, lengthBytes)));
        expect(await hsm.verifyMac({ ...request, mac })).toBe(true);
        const other = mac.map((byte, at) => (at === lengthBytes - 1 ? byte ^ 1 : byte));
        expect(await hsm.verifyMac({ ...request, mac: other })).toBe(false);
        expect(await hsm.verifyMac({ ...request, mac: mac.subarray(1) })).toBe(false);
      }
    }
  });

  test('authenticates a message that contains every byte', async () => {
    const hsm = await openHsm(form);
    const message = Uint8Array.from({ length: 30_000 }, (_, at) => at % 256);
    const request = { keyId: 'zak', method: MAC_ALGORITHMS['x9.19'], message, lengthBytes: 8 };
    const expected = keyMac(clearKey('zak'), request.method)(message);
    expect(Buffer.from(await hsm.mac(request))).toEqual(Buffer.from(expected));
    const tooLong = { ...request, message: new Uint8Array(30_001) };
    await expect(hsm.mac(tooLong)).rejects.toMatchObject(failsWith('DATA_LENGTH'));
    await expect(hsm.mac({ ...request, message: new Uint8Array() })).rejects.toMatchObject(failsWith('DATA_LENGTH'));
  });

  test('refuses keys of another use, and what no public source confirms', async () => {
    const hsm = await openHsm(form);
    const method = MAC_ALGORITHMS['x9.19'];
    const mac = { keyId: 'zak', method, message: MESSAGE, lengthBytes: 4 };
    await expect(hsm.mac({ ...mac, keyId: 'zpk' })).rejects.toMatchObject(failsWith('KEY_USAGE'));
    await expect(hsm.mac({ ...mac, keyId: 'other' })).rejects.toMatchObject(failsWith('KEY_UNKNOWN'));
    await expect(hsm.mac({ ...mac, keyId: 'x99' })).rejects.toMatchObject(failsWith('KEY_LENGTH'));
    await expect(hsm.mac({ ...mac, method: MAC_ALGORITHMS['tdes-cmac'] })).rejects.toMatchObject(
      failsWith('KEY_USAGE'),
    );
    await expect(hsm.mac({ ...mac, lengthBytes: 3 })).rejects.toMatchObject(failsWith('DATA_LENGTH'));
    const from = { keyId: 'zpk', format: 4, block: new Uint8Array(16) } as const;
    const to = { keyId: 'zpk', format: 0 } as const;
    await expect(hsm.translatePin({ from, to, pan: PAN })).rejects.toMatchObject(failsWith('KEY_USAGE'));
    const fromZone = { keyId: 'zpk', format: 0, block: new Uint8Array(8) } as const;
    const toDukpt = { keyId: 'bdk', ksn: readerPin.ksn, format: 0 } as const;
    await expect(hsm.translatePin({ from: fromZone, to: toDukpt, pan: PAN })).rejects.toMatchObject(
      failsWith('KEY_USAGE'),
    );
  });

  test('compares the check value of a key with that of the device', async () => {
    const hsm = await openHsm(form);
    for (const keyId of ['zmk', 'tpk', 'zpk', 'zak', 'x99', 'bdk'] as const) {
      expect(await hsm.kcv(keyId)).toBe(kcv(clearKey(keyId)));
    }
  });

  test('imports a key from a cryptogram and uses it', async () => {
    const hsm = await openHsm(form);
    const clear = fromHex('0E329232EA6D0D73B94CCE1F2A1F5B76');
    const key = new BlockKey('tdes', clear);
    const cryptogram = clearKey('zmk').encrypt(clear);
    const request = { keyId: 'new', usage: 'mac', transportKeyId: 'zmk', cryptogram, kcv: kcv(key) } as const;
    expect(await hsm.importKey({ ...request, parity: 'any' })).toMatchObject({ keyId: 'new', lengthBytes: 16 });
    await expect(hsm.importKey({ ...request, parity: 'any' })).rejects.toMatchObject(failsWith('KEY_EXISTS'));
    const mac = { keyId: 'new', method: MAC_ALGORITHMS['x9.19'], message: MESSAGE, lengthBytes: 8 };
    expect(Buffer.from(await hsm.mac(mac))).toEqual(Buffer.from(keyMac(key, mac.method)(MESSAGE)));
    await hsm.forgetKey('new');
    await expect(hsm.mac(mac)).rejects.toMatchObject(failsWith('KEY_UNKNOWN'));
  });

  test('refuses a cryptogram of another key, of another length or under another transport key', async () => {
    const hsm = await openHsm(form);
    const clear = fromHex('C1D0F8FB4958670DBA40AB1F3752EF0D');
    const key = new BlockKey('tdes', clear);
    const cryptogram = clearKey('zmk').encrypt(clear);
    const request = { keyId: 'new', usage: 'pin', transportKeyId: 'zmk', cryptogram, kcv: kcv(key) } as const;
    await expect(hsm.importKey({ ...request, kcv: '000000' })).rejects.toMatchObject(failsWith('KEY_CHECK_VALUE'));
    const even = clearKey('zmk').encrypt(clear.map((byte, at) => (at === 3 ? byte ^ 1 : byte)));
    await expect(hsm.importKey({ ...request, cryptogram: even })).rejects.toMatchObject(failsWith('KEY_PARITY'));
    const single = { ...request, cryptogram: cryptogram.subarray(0, 8) };
    await expect(hsm.importKey(single)).rejects.toMatchObject(failsWith('KEY_LENGTH'));
    await expect(hsm.importKey({ ...request, transportKeyId: 'kbpk' })).rejects.toMatchObject(failsWith('KEY_USAGE'));
    await expect(hsm.kcv('new')).rejects.toMatchObject(failsWith('KEY_UNKNOWN'));
  });

  test('imports a key from a TR-31 key block', async () => {
    const hsm = await openHsm(form);
    const header = { version: 'B', algorithm: 'T', keyVersion: '00', exportability: 'N' } as const;
    for (const [keyId, hex] of [
      ['double', 'C1D0F8FB4958670DBA40AB1F3752EF0D'],
      ['triple', 'C1D0F8FB4958670DBA40AB1F3752EF0D0E329232EA6D0D73'],
    ] as const) {
      const key = new BlockKey('tdes', fromHex(hex));
      const block = wrapTr31(key, { ...header, keyUsage: 'P0', modeOfUse: 'B' }, clearKey('kbpk'));
      const request = { keyId, usage: 'pin', transportKeyId: 'kbpk', block, kcv: kcv(key) } as const;
      expect(await hsm.importKey(request)).toMatchObject({ usage: 'pin', kcv: kcv(key) });
      const pin = { keyId: 'tpk', format: 0, block: encipherPin(0, parsePin('4321'), PAN, clearKey('tpk')) } as const;
      const translated = await hsm.translatePin({ from: pin, to: { keyId, format: 0 }, pan: PAN });
      expect(digitsOf(decipherPin(0, translated.block, PAN, key))).toBe('4321');
    }
  });

  test('names what is wrong with a key block', async () => {
    const hsm = await openHsm(form);
    const key = clearKey('zpk');
    const header = { version: 'B', algorithm: 'T', keyVersion: '00', exportability: 'N' } as const;
    const block = wrapTr31(key, { ...header, keyUsage: 'P0', modeOfUse: 'B' }, clearKey('kbpk'));
    const request = { keyId: 'new', usage: 'pin', transportKeyId: 'kbpk', block } as const;
    const forged = `${block.slice(0, -1)}${block.endsWith('0') ? '1' : '0'}`;
    await expect(hsm.importKey({ ...request, block: forged })).rejects.toMatchObject(failsWith('KEY_BLOCK_MAC'));
    await expect(hsm.importKey({ ...request, usage: 'mac' })).rejects.toMatchObject(failsWith('KEY_USAGE'));
    await expect(hsm.importKey({ ...request, block: 'B0016' })).rejects.toMatchObject(failsWith('KEY_BLOCK'));
    expect(hsm.deviceStates()[0]).toMatchObject({ status: 'ready', circuitOpenings: 0 });
  });
});
