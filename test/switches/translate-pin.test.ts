import { describe, expect, test } from 'vitest';
import { CryptoError, PinUnusable, StartError } from '../../src/basics/errors.ts';
import { fromHex } from '../../src/codecs/bytes/hex.ts';
import { parsePin } from '../../src/codecs/crypto/pin-block.ts';
import { DEMO_READER_KEY, demoKey, SoftHsm } from '../../src/codecs/crypto/soft-hsm.ts';
import type { EnteredPin } from '../../src/payments/ports/switch-ports.ts';
import {
  checkPinKeys,
  refusePinTerminals,
  type SwitchPinKey,
  translatePin,
} from '../../src/switching/switches/translate-pin.ts';
import { PinPad } from '../../src/tools/phone/virtual-reader.ts';

const PAN = '5413330089010640';
const ZONE: SwitchPinKey = { keyId: 'zone', format: 0, derivation: 'zone' };
const DUKPT: SwitchPinKey = { keyId: 'acquirer', format: 3, derivation: 'dukpt' };

const hsm = new SoftHsm({
  environment: 'dev',
  keys: [demoKey(DEMO_READER_KEY, 'dukptBase'), demoKey('zone', 'pin'), demoKey('acquirer', 'dukptBase')],
});
const pins = { hsm, reader: { keyId: DEMO_READER_KEY, format: 0 } } as const;
const entered = new PinPad().enter('12345', PAN);

describe('a PIN of a reader', () => {
  test('is translated to the zone PIN key, without a key serial number', async () => {
    const translated = await translatePin(pins, ZONE, entered, PAN);
    expect(translated.ksn).toBeUndefined();
    const from = { keyId: 'zone', format: 0, block: translated.block } as const;
    expect(await hsm.verifyPin({ from, pan: PAN, pin: parsePin('12345') })).toBe(true);
  });

  test('is translated to the base derivation key of the acquirer, with the reader’s own key serial number', async () => {
    const { block, ksn } = await translatePin(pins, DUKPT, entered, PAN);
    expect(ksn).toEqual(entered.ksn);
    expect(Buffer.from(block).equals(entered.block)).toBe(false);
    const from = { keyId: 'acquirer', format: 3, block, ksn } as const;
    expect(await hsm.verifyPin({ from, pan: PAN, pin: parsePin('12345') })).toBe(true);
  });

  test.each<[what: string, pin: EnteredPin, pan: string]>([
    ['entered for another card', entered, '4111111111111111'],
    ['invented', { ...entered, block: fromHex('0123456789ABCDEF') }, PAN],
    ['with a serial number that no device comes to', { ...entered, ksn: fromHex('FFFF9876543210FFFFFF') }, PAN],
    ['of format 4 with a serial number of TDES', { ...entered, block: new Uint8Array(16) }, PAN],
    ['of 8 bytes with a serial number of AES', { ...entered, ksn: new Uint8Array(12) }, PAN],
    ['of format 4 under a TDES key', { block: new Uint8Array(16), ksn: new Uint8Array(12) }, PAN],
  ])('%s is unusable', async (_what, pin, pan) => {
    for (const key of [ZONE, DUKPT]) await expect(translatePin(pins, key, pin, pan)).rejects.toThrow(PinUnusable);
  });

  test('is not at fault if a key is configured wrongly', async () => {
    const wrong = { ...ZONE, keyId: 'nowhere' };
    await expect(translatePin(pins, wrong, entered, PAN)).rejects.toThrow(new CryptoError('KEY_UNKNOWN'));
  });
});

describe('a switch that takes PINs', () => {
  test.each([
    ['no HSM', undefined, ZONE, /processor 1: it takes PINs, and there is no HSM/],
    ['no key of its own', pins, { ...ZONE, keyId: 'nowhere' }, /pinKey \(nowhere\)/],
    ['no key of the readers', { ...pins, reader: { keyId: 'gone', format: 0 } }, ZONE, /READER_PIN_KEY \(gone\)/],
  ] as const)('does not open with %s', async (_what, given, key, words) => {
    const opening = checkPinKeys(given, key, 'processor 1');
    await expect(opening).rejects.toThrow(StartError);
    await expect(opening).rejects.toThrow(words);
  });

  test('opens if both keys exist; one that takes none requires no HSM', async () => {
    await expect(checkPinKeys(pins, ZONE, 'processor 1')).resolves.toBeUndefined();
    await expect(checkPinKeys(undefined, undefined, 'processor 1')).resolves.toBeUndefined();
  });
});

describe('without an HSM, in prod', () => {
  test('terminals that take PINs stop the start of the gateway, and are named', () => {
    const terminals = Array.from({ length: 7 }, (_, index) => `TERM${index} of acquirer 1`);
    expect(() => refusePinTerminals(terminals)).toThrow(
      /7 terminals take PINs \(TERM0 of acquirer 1, .*TERM4 of acquirer 1\)/,
    );
  });

  test('a gateway without such terminals starts', () => {
    expect(() => refusePinTerminals([])).not.toThrow();
  });
});
