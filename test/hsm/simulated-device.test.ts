import { describe, expect, test } from 'vitest';
import { toHex } from '../../src/codecs/bytes/hex.ts';
import { encipherPin, parsePin } from '../../src/codecs/crypto/pin-block.ts';
import { wrapTr31 } from '../../src/codecs/crypto/tr31.ts';
import { type HostCommand, keyTypeField, type Lmk, lmkField } from '../../src/hsm-devices/payshield/host-command.ts';
import {
  generateMac,
  importKey,
  keyCheckValue,
  translateDukptPin,
  translateZonePin,
  verifyMac,
} from '../../src/hsm-devices/payshield/payshield-commands.ts';
import { seededRandom } from '../../src/tools/simulator/faults.ts';
import { respondToCommand } from '../../src/tools/simulator/hsm/host-commands.ts';
import { type LmkForm, TestLmk } from '../../src/tools/simulator/hsm/test-lmk.ts';
import { readerPin } from '../crypto/test-keys.ts';
import { clearKey, fileKeys, type TestKeyId } from './support.ts';

const PAN = '4111111111111111';
const MESSAGE = Buffer.from('a message');

/** One good command of each kind, with its code and fields. */
function goodCommands(form: LmkForm): Buffer[] {
  const lmk: Lmk = { form, id: '00' };
  const keys = new Map(fileKeys(form).map(({ keyId, key }) => [keyId, key]));
  const key = (keyId: TestKeyId) => keys.get(keyId)!;
  const scheme = form === 'variant' ? 'U' : 'S';
  const pin = { lmk, destinationKey: key('zpk'), sourceFormat: '01', destinationFormat: '01' } as const;
  const zonePin = {
    ...pin,
    sourceType: 'TPK',
    sourceKey: key('tpk'),
    block: toHex(encipherPin(0, parsePin('1234'), PAN, clearKey('tpk'))),
    accountNumber: '111111111111',
  } as const;
  const mac = {
    lmk,
    keyType: 'ZAK',
    key: key('zak'),
    algorithm: '3',
    padding: '1',
    message: MESSAGE,
    macBytes: 4,
  } as const;
  const computed = respondToCommand(bytesOf(generateMac(mac)), new TestLmk(form)).substring(4);
  const cryptogram = `X${toHex(clearKey('zpk').useBytes((clear) => clearKey('zmk').encrypt(clear)))}`;
  const header = {
    version: 'B',
    keyUsage: 'P0',
    algorithm: 'T',
    modeOfUse: 'B',
    keyVersion: '00',
    exportability: 'N',
  } as const;
  const attributes = form === 'keyBlock' ? { usage: 'P0', modeOfUse: 'B' } : undefined;
  const received = { lmk, keyType: 'ZPK', zmk: key('zmk'), scheme } as const;
  const commands: HostCommand<unknown>[] = [
    translateZonePin(zonePin),
    translateZonePin({
      ...zonePin,
      sourceType: 'ZPK',
      sourceKey: key('zpk'),
      block: toHex(encipherPin(0, parsePin('1234'), PAN, clearKey('zpk'))),
    }),
    translateDukptPin({
      ...pin,
      bdk: key('bdk'),
      ksnDescriptor: 'A05',
      ksn: toHex(readerPin.ksn!),
      block: toHex(readerPin.block),
      accountNumber: '401234567890',
    }),
    generateMac(mac),
    verifyMac(mac, computed),
    importKey({ ...received, key: cryptogram, attributes }),
    importKey({ ...received, key: `R${wrapTr31(clearKey('zpk'), header, clearKey('zmk'))}` }),
    keyCheckValue({ lmk, keyType: 'ZPK', key: key('zpk') }),
  ];
  // Export a key; translate a ZPK from ZMK to LMK encryption. The gateway sends neither.
  const a8 = `A8${keyTypeField(lmk, 'ZPK')}${key('zmk')}${key('zpk')}X${lmkField(lmk)}`;
  const fa = `FA${key('zmk')}${cryptogram};0${scheme}1${lmkField(lmk)}`;
  return [...commands.map(bytesOf), ...[a8, fa, 'NC', 'NO00', 'B20004PING'].map((text) => Buffer.from(text))];
}

const bytesOf = ({ code, body }: HostCommand<unknown>) => Buffer.concat([Buffer.from(code), body]);

describe.each(['variant', 'keyBlock'] as const)('the simulated device with a %s LMK', (form) => {
  const lmk = new TestLmk(form);
  const good = goodCommands(form);
  const errorOf = (command: Uint8Array) => respondToCommand(command, lmk).substring(2, 4);

  test('carries out good commands', () => {
    expect(good.map((command) => errorOf(command))).toEqual(good.map(() => '00'));
  });

  test('refuses every command that is too long, and every one that ends inside a field', () => {
    for (const command of good) {
      expect(errorOf(Buffer.concat([command, Buffer.from('0')]))).not.toBe('00');
      const withoutLmk = command.length - (command.includes('%00') ? 3 : 0);
      for (let end = 2; end < command.length; end++) {
        // The LMK Identifier and what follows it are optional, as are the options of FA and BU after `;`.
        const isOptionalEnd = end === withoutLmk || '%;#'.includes(String.fromCharCode(command[end]!));
        if (!isOptionalEnd) expect(`${end} ${errorOf(command.subarray(0, end))}`).not.toBe(`${end} 00`);
      }
    }
  });

  test('responds to every damaged command, and never with another form than code, error code and fields', () => {
    const random = seededRandom(7);
    const below = (limit: number) => Math.floor(random.next() * limit);
    for (let round = 0; round < 4_000; round++) {
      const command = Buffer.from(good[round % good.length]!);
      for (let change = 0; change <= below(3); change++) {
        const character = random.next() < 0.5 ? below(256) : '0123456789ABCDEFSRUXTYZ%;#*'.charCodeAt(below(27));
        command[below(command.length)] = character;
      }
      const end = random.next() < 0.2 ? below(command.length) : command.length;
      expect(respondToCommand(command.subarray(0, end), lmk)).toMatch(/^[\s\S]{2}[0-9A-Z]{2}/);
    }
  });
});
