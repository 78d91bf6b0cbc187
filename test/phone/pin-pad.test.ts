import { expect, test } from 'vitest';
import { toHex } from '../../src/codecs/bytes/hex.ts';
import { PinPad } from '../../src/tools/phone/virtual-reader.ts';

const PAN = '4111111111111111';
/** More than the counters of one device. */
const PINS = 1_100;

test('a PIN pad enciphers every PIN under its own key, also when the counters of a device are used up', () => {
  const pad = new PinPad();
  const entered = Array.from({ length: PINS }, () => pad.enter('12345', PAN));
  expect(new Set(entered.map(({ ksn }) => toHex(ksn))).size).toBe(PINS);
  expect(new Set(entered.map(({ block }) => toHex(block))).size).toBe(PINS);
});
