import { inspect } from 'node:util';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { CryptoError } from '../../src/basics/errors.ts';
import { fromHex, toHex } from '../../src/codecs/bytes/hex.ts';
import { Secret } from '../../src/codecs/bytes/secret.ts';
import { BlockKey } from '../../src/codecs/crypto/block-key.ts';
import {
  decipherPin,
  decodePinBlock,
  encipherPin,
  encodePinBlock,
  type OnlinePinFormat,
  parsePin,
  type ShortPinFormat,
} from '../../src/codecs/crypto/pin-block.ts';

const PAN = '4111111111111111';
const tdes = new BlockKey('tdes', fromHex('0123456789ABCDEFFEDCBA9876543210'));
const aes = new BlockKey('aes', fromHex('00112233445566778899AABBCCDDEEFF'));
const keyFor = (format: OnlinePinFormat) => (format === 4 ? aes : tdes);

const digits = (minLength: number, maxLength: number) =>
  fc.array(fc.integer({ min: 0, max: 9 }), { minLength, maxLength }).map((values) => values.join(''));
const pins = digits(4, 12);
const pans = digits(8, 19);
const shortFormats = fc.constantFrom<ShortPinFormat>(0, 1, 2, 3);
const onlineFormats = fc.constantFrom<OnlinePinFormat>(0, 1, 3, 4);
const pinBlockError = new CryptoError('PIN_BLOCK');

test('any PIN and any PAN round-trip through a clear block', () => {
  fc.assert(
    fc.property(shortFormats, pins, pans, (format, pin, pan) => {
      expect(
        decodePinBlock(format, encodePinBlock(format, parsePin(pin), pan), pan)
          .reveal()
          .join(''),
      ).toBe(pin);
    }),
  );
});

test('any PIN and any PAN round-trip through an enciphered block', () => {
  fc.assert(
    fc.property(onlineFormats, pins, pans, (format, pin, pan) => {
      const key = keyFor(format);
      const block = encipherPin(format, parsePin(pin), pan, key);
      expect(block).toHaveLength(format === 4 ? 16 : 8);
      expect(decipherPin(format, block, pan, key).reveal().join('')).toBe(pin);
    }),
  );
});

test('any bytes are a PIN block, or give the same error', () => {
  fc.assert(
    fc.property(onlineFormats, fc.uint8Array({ maxLength: 24 }), pans, (format, block, pan) => {
      try {
        const pin = decipherPin(format, block, pan, keyFor(format));
        expect(pin.reveal().length).toBeGreaterThanOrEqual(4);
        expect(pin.reveal().length).toBeLessThanOrEqual(12);
      } catch (error) {
        expect(error).toEqual(pinBlockError);
      }
    }),
    { numRuns: 2_000 },
  );
});

test('the error does not reveal what is wrong with a clear block', () => {
  const causes: [ShortPinFormat, string, string][] = [
    [2, '141234FFFFFFFFFF', 'another format'],
    [2, '231234FFFFFFFFFF', 'a length of 3'],
    [2, '2D1234567890123F', 'a length of 13'],
    [2, '24123AFFFFFFFFFF', 'a PIN digit above 9'],
    [2, '241234FFFFFFFFF0', 'another fill at the end'],
    [2, '2412340FFFFFFFFF', 'another fill at the start'],
    [3, '341261AAAAEDCBA0', 'a fill of the wrong range'],
    [2, '', 'no bytes'],
    [2, '241234FFFFFFFF', 'a byte too few'],
    [2, '241234FFFFFFFFFFFF', 'a byte too many'],
  ];
  const errors = causes.map(([format, block]) => {
    try {
      decodePinBlock(format, fromHex(block), PAN);
      return undefined;
    } catch (error) {
      return { code: (error as CryptoError).code, text: String(error) };
    }
  });
  expect(new Set(errors.map((error) => JSON.stringify(error)))).toEqual(
    new Set([JSON.stringify({ code: 'PIN_BLOCK', text: String(pinBlockError) })]),
  );
});

test('a format 4 block is read with any random bytes, and refused if its fill is not A', () => {
  const panField = fromHex('44111111111111111000000000000000');
  const seal = (field: string) => {
    const inner = aes.encrypt(fromHex(field));
    return aes.encrypt(inner.map((byte, position) => byte ^ panField[position]!));
  };
  expect(decipherPin(4, seal('441234AAAAAAAAAA0123456789ABCDEF'), PAN, aes).reveal().join('')).toBe('1234');
  for (const field of [
    '441234AAAAAAAAAB',
    '441234BAAAAAAAAA',
    '041234AAAAAAAAAA',
    '431234AAAAAAAAAA',
    '4D1234567890123A',
  ]) {
    expect(() => decipherPin(4, seal(`${field}0123456789ABCDEF`), PAN, aes)).toThrow(pinBlockError);
  }
});

test('a PIN of 3 or 13 digits, or of other characters, is the same error', () => {
  for (const pin of ['', '123', '1234567890123', '12a4', '-1234', '１２３４', ' 1234']) {
    expect(() => parsePin(pin)).toThrow(pinBlockError);
  }
  for (const values of [[], [1, 2, 3], [1, 2, 3, 10], [1, 2, 3, 255]]) {
    expect(() => encodePinBlock(1, new Secret(Uint8Array.from(values)), PAN)).toThrow(pinBlockError);
  }
});

test('a PAN of 7 or 20 digits, or of other characters, is the same error in every function', () => {
  for (const pan of ['', '4111111', '41111111111111111111', '411111111111111a', '4111 1111 1111 1']) {
    for (const format of [0, 3, 4] as const) {
      const key = keyFor(format);
      expect(() => encipherPin(format, parsePin('1234'), pan, key)).toThrow(pinBlockError);
      expect(() => decipherPin(format, new Uint8Array(key.blockBytes), pan, key)).toThrow(pinBlockError);
    }
  }
});

test('a block opened with another PAN is refused or contains another PIN, except in format 1', () => {
  const other = '5413330089010640';
  fc.assert(
    fc.property(onlineFormats, pins, (format, pin) => {
      const block = encipherPin(format, parsePin(pin), PAN, keyFor(format));
      const opened = () => decipherPin(format, block, other, keyFor(format)).reveal().join('');
      if (format === 1) expect(opened()).toBe(pin);
      else expect(tryTo(opened)).not.toBe(pin);
    }),
  );
});

test('formats 1, 3 and 4 look different each time, format 0 always the same', () => {
  const blocks = (format: OnlinePinFormat) =>
    new Set(Array.from({ length: 20 }, () => toHex(encipherPin(format, parsePin('1234'), PAN, keyFor(format)))));
  expect(blocks(0).size).toBe(1);
  for (const format of [1, 3, 4] as const) expect(blocks(format).size).toBe(20);
});

test('the fill of format 3 uses each of A to F and nothing else', () => {
  const panField = fromHex('0000111111111111');
  const seen = new Set<string>();
  for (let round = 0; round < 200; round++) {
    const field = encodePinBlock(3, parsePin('1234'), PAN).map((byte, position) => byte ^ panField[position]!);
    for (const nibble of toHex(field).slice(6)) seen.add(nibble);
  }
  expect([...seen].sort().join('')).toBe('ABCDEF');
});

test('a key of the other algorithm is refused by name: it is a configuration error, not a bad block', () => {
  for (const format of [0, 1, 3, 4] as const) {
    const wrong = format === 4 ? tdes : aes;
    expect(() => encipherPin(format, parsePin('1234'), PAN, wrong)).toThrow(new CryptoError('KEY_USAGE'));
    expect(() => decipherPin(format, new Uint8Array(16), PAN, wrong)).toThrow(new CryptoError('KEY_USAGE'));
  }
});

test('a PIN is not shown when it is printed', () => {
  const pin = decodePinBlock(2, fromHex('249731FFFFFFFFFF'), '');
  expect(pin.reveal().join('')).toBe('9731');
  expect([String(pin), JSON.stringify(pin), inspect(pin, { depth: 9 })]).toEqual([
    '[secret]',
    '"[secret]"',
    '[secret]',
  ]);
});

test('the given block is not modified', () => {
  for (const format of [0, 1, 3, 4] as const) {
    const block = encipherPin(format, parsePin('1234'), PAN, keyFor(format));
    const before = toHex(block);
    decipherPin(format, block, PAN, keyFor(format));
    expect(toHex(block)).toBe(before);
  }
  const clear = fromHex('241234FFFFFFFFFF');
  decodePinBlock(2, clear, '');
  expect(toHex(clear)).toBe('241234FFFFFFFFFF');
});

function tryTo(open: () => string): string {
  try {
    return open();
  } catch (error) {
    expect(error).toEqual(pinBlockError);
    return 'refused';
  }
}
