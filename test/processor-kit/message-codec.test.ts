import { expect, test } from 'vitest';
import type1 from '../../processors/type-1/index.ts';
import type2 from '../../processors/type-2/index.ts';
import { toHex } from '../../src/bytes/hex.ts';
import { BlockKey } from '../../src/crypto/block-key.ts';
import { keyMac } from '../../src/crypto/mac.ts';
import { testPurchase } from '../../src/processor-kit/conformance/test-tap.ts';
import type { IsoMessage, MacKeys, Processor } from '../../src/processor-kit/index.ts';
import { macVerdictOf } from '../../src/processor-kit/mac-verdict.ts';
import { messageCodec } from '../../src/processor-kit/message-codec.ts';

const KEYS: Readonly<Record<string, string>> = {
  old: '0123456789ABCDEF',
  new: 'FEDCBA9876543210',
  other: '1111111111111111',
};

const macKeys: MacKeys = (keyId, method) => keyMac(new BlockKey('tdes', Buffer.from(KEYS[keyId]!, 'hex')), method);

function codecWith(...keyIds: string[]) {
  const keys = keyIds.map((keyId) => ({ number: keyId === 'old' ? 1 : 2, keyId }));
  return messageCodec(type1, { ...type1.exampleConfig, macKeys: keys }, macKeys);
}

const plain = messageCodec(type1, type1.exampleConfig);

function bytesOf(codec: typeof plain, message: IsoMessage): Uint8Array {
  const target = new Uint8Array(8_192);
  return target.slice(7, codec.encode(message, target, 7));
}

const sale = () => type1.authorization(testPurchase(), type1.exampleConfig);

test('a message is sent with the number of its key and four bytes of MAC, and verified as good', () => {
  const bytes = bytesOf(codecWith('old'), sale());
  const mac = bytes.subarray(-8);
  expect(mac[0]).toBe(1);
  expect([...mac.subarray(5)]).toEqual([0, 0, 0]);
  expect(macVerdictOf(codecWith('old').decode(bytes))).toBe('good');
});

test('during a key change messages with either key are good', () => {
  const both = codecWith('new', 'old');
  expect(macVerdictOf(both.decode(bytesOf(codecWith('old'), sale())))).toBe('good');
  expect(macVerdictOf(both.decode(bytesOf(both, sale())))).toBe('good');
  expect(bytesOf(both, sale()).at(-8)).toBe(2);
});

test('a MAC of an unknown key cannot be verified, a wrong one is bad', () => {
  expect(macVerdictOf(codecWith('old').decode(bytesOf(codecWith('new'), sale())))).toBe('unverifiable');
  expect(macVerdictOf(codecWith('new').decode(bytesOf(codecWith('other'), sale())))).toBe('bad');
});

test.each([
  'amount',
  'stan',
  'rrn',
  'tid',
  'currency',
  'pan',
  'processingCode',
])('a message whose %s was changed in transit is bad', (field) => {
  const message = codecWith('old').decode(bytesOf(codecWith('old'), sale()));
  const value = String(message[field]);
  const changed = { ...message, [field]: `${value.startsWith('1') ? '2' : '1'}${value.slice(1)}` };
  expect(macVerdictOf(codecWith('old').decode(bytesOf(plain, changed)))).toBe('bad');
});

test('a message without a MAC is unverifiable if one was agreed, and so is one with a MAC if none was', () => {
  expect(macVerdictOf(codecWith('old').decode(bytesOf(plain, sale())))).toBe('unverifiable');
  expect(macVerdictOf(plain.decode(bytesOf(codecWith('old'), sale())))).toBe('unverifiable');
});

test('a connection without MACs has no verdicts', () => {
  expect(macVerdictOf(plain.decode(bytesOf(plain, sale())))).toBeUndefined();
});

test('missing keys, or a dialect without MACs, stop the start', () => {
  const config = { ...type1.exampleConfig, macKeys: [{ number: 1, keyId: 'old' }] };
  expect(() => messageCodec(type1, config)).toThrow('no MAC keys');
  expect(() => messageCodec({ ...type1, mac: undefined }, config, macKeys)).toThrow('has no MAC');
});

test('a MAC over the whole message, in DE64 and with AES, covers every byte before it', () => {
  const key = new BlockKey('aes', new Uint8Array(16).fill(7));
  const cmacs: MacKeys = (_keyId, method) => keyMac(key, method);
  const dialect = { ...type2, mac: { ...type2.mac!, method: { algorithm: 'cmac' } } } as const;
  const codec = messageCodec(dialect as Processor, type2.exampleConfig, cmacs);
  const bytes = bytesOf(codec, type2.authorization(testPurchase(), type2.exampleConfig));
  expect(macVerdictOf(codec.decode(bytes))).toBe('good');
  const expected = keyMac(key, { algorithm: 'cmac' })(bytes.subarray(0, -8)).subarray(0, 8);
  expect(toHex(bytes.subarray(-8))).toBe(toHex(expected));
  const changed = { ...codec.decode(bytes), stan: '000124' };
  expect(macVerdictOf(codec.decode(bytesOf(type2.codec(type2.exampleConfig) as typeof plain, changed)))).toBe('bad');
});
