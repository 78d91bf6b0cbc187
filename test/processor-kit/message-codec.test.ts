import { createCipheriv } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import type1 from '../../processors/type-1/index.ts';
import type2 from '../../processors/type-2/index.ts';
import { toHex } from '../../src/codecs/bytes/hex.ts';
import { BlockKey } from '../../src/codecs/crypto/block-key.ts';
import { keyMac } from '../../src/codecs/crypto/mac.ts';
import { testPurchase } from '../../src/kits/processor-kit/conformance/check.ts';
import type { IsoMessage, MacKeys, Processor } from '../../src/kits/processor-kit/index.ts';
import { macVerdictOf } from '../../src/kits/processor-kit/mac-layout.ts';
import { messageCodec } from '../../src/kits/processor-kit/message-codec.ts';

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

test('messages with either key are good during a key change', () => {
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

describe('a MAC over fields covers them as on the wire', () => {
  const terminal = { tid: 'T1', mid: 'SHOP 7', canTakePin: true };
  const [cardNumber, amount, rrn] = ['4111111111111111', '000000001234', '632414000123'];

  /** ANSI X9.9 without the code under test: DES in CBC mode, zeros after the text, the last block. */
  function x99(keyHex: string, text: string): string {
    const bytes = Buffer.from(text, 'latin1');
    const padded = Buffer.concat([bytes, Buffer.alloc((8 - (bytes.length % 8)) % 8)]);
    // Three equal parts make DES of triple DES.
    const cipher = createCipheriv('des-ede3-cbc', Buffer.from(keyHex.repeat(3), 'hex'), Buffer.alloc(8));
    return cipher.setAutoPadding(false).update(padded).subarray(-8).toString('hex').toUpperCase();
  }

  test('the other computation gives the MAC of the standard for its example', () => {
    // FIPS PUB 113, appendix: the key and text of ANSI X9.9.
    expect(x99('0123456789ABCDEF', '7654321 Now is the time for ').slice(0, 8)).toBe('F1D30F68');
  });

  test('a MAC covers the fields of a request as on the wire, from a terminal whose ids are shorter than their fields', () => {
    const request = type1.authorization(testPurchase({ terminal }), type1.exampleConfig);
    const bytes = bytesOf(codecWith('old'), request);
    const text = `0200 ${cardNumber} 000000 ${amount} 1120141005 000123 ${rrn}   T1       SHOP 7          710   `;
    expect(toHex(bytes.subarray(-8))).toBe(`01${x99(KEYS.old!, text).slice(0, 8)}000000`);
    // The example of the README; OpenSSL gives the same.
    expect(toHex(bytes.subarray(-8))).toBe('014FEFE3A0000000');
  });

  test('a MAC covers the fields of a response as on the wire, and is verified although decoding removes the padding', () => {
    const request = type1.authorization(testPurchase({ terminal }), type1.exampleConfig);
    const response = type1.simulate(request, { responseCode: '00', authorizationCode: 'A1' });
    const bytes = bytesOf(plain, { ...response, mac: new Uint8Array(8) });
    const text = `0210  000000 ${amount} 1120141005 000123 ${rrn} A1     00 T1       SHOP 7          710   `;
    bytes.set(Buffer.from(`01${x99(KEYS.old!, text).slice(0, 8)}000000`, 'hex'), bytes.length - 8);
    const decoded = codecWith('old').decode(bytes);
    expect(decoded).toMatchObject({ tid: 'T1', mid: 'SHOP 7', authorizationCode: 'A1' });
    expect(macVerdictOf(decoded)).toBe('good');
    expect(toHex(bytesOf(codecWith('old'), response))).toBe(toHex(bytes));
  });

  test('the MAC of the messages of a terminal with full ids does not change', () => {
    const bytes = bytesOf(codecWith('old'), sale());
    const text = `0200 ${cardNumber} 000000 ${amount} 1120141005 000123 ${rrn}   TERM0001 MERCHANT0000001 710   `;
    expect(toHex(bytes.subarray(-8))).toBe(`01${x99(KEYS.old!, text).slice(0, 8)}000000`);
  });
});

describe('a MAC in the field that the bitmap asks for', () => {
  const byBitmap = { ...type1, mac: { ...type1.mac!, field: ['primaryMac', 'mac'] as const } } as unknown as Processor;
  const agreed = (processor: Processor) =>
    messageCodec(processor, { ...type1.exampleConfig, macKeys: [{ number: 1, keyId: 'old' }] }, macKeys);
  const short = (): IsoMessage => ({ mti: '0210', stan: '000123', responseCode: '00', tid: 'T1' });
  const long = (): IsoMessage => ({ ...short(), networkCode: '301' });
  /** Bits 64 and 1 of the primary bitmap, bit 128. */
  const bitsOf = (bytes: Uint8Array) => [bytes[11]! & 1, bytes[4]! >> 7, bytes[4]! >> 7 === 1 ? bytes[19]! & 1 : 0];

  test('is DE64 in a message without secondary bitmap and DE128 in one with it', () => {
    const codec = agreed(byBitmap);
    expect(bitsOf(bytesOf(codec, short()))).toEqual([1, 0, 0]);
    expect(bitsOf(bytesOf(codec, long()))).toEqual([0, 1, 1]);
    for (const message of [short(), long()]) expect(macVerdictOf(codec.decode(bytesOf(codec, message)))).toBe('good');
  });

  test('moves when the same message gets a field of the secondary bitmap', () => {
    const codec = agreed(byBitmap);
    const message = short();
    bytesOf(codec, message);
    message.networkCode = '301';
    expect(bitsOf(bytesOf(codec, message))).toEqual([0, 1, 1]);
  });

  test('is good in DE128 also if the message has no other field of the secondary bitmap', () => {
    expect(macVerdictOf(agreed(byBitmap).decode(bytesOf(agreed(type1), short())))).toBe('good');
  });

  test('does not count in DE64 before other fields, which it would not cover', () => {
    const bytes = bytesOf(agreed(byBitmap), short());
    const signed = agreed(byBitmap).decode(bytes);
    const extended = bytesOf(plain, { ...signed, networkCode: '301' });
    expect(macVerdictOf(agreed(byBitmap).decode(extended))).toBe('unverifiable');
  });

  test('is refused in the other field by a dialect that fixes it', () => {
    expect(bitsOf(bytesOf(agreed(type1), short()))).toEqual([0, 1, 1]);
    expect(macVerdictOf(agreed(type1).decode(bytesOf(agreed(byBitmap), short())))).toBe('unverifiable');
  });

  test('is unverifiable in either field without agreed keys', () => {
    for (const message of [short(), long()])
      expect(macVerdictOf(messageCodec(byBitmap, type1.exampleConfig).decode(bytesOf(agreed(byBitmap), message)))).toBe(
        'unverifiable',
      );
  });
});
