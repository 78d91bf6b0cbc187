import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { CryptoError } from '../../src/basics/errors.ts';
import { fromHex, toHex } from '../../src/codecs/bytes/hex.ts';
import { BlockKey } from '../../src/codecs/crypto/block-key.ts';
import { cmac } from '../../src/codecs/crypto/mac.ts';
import { deriveTr31Keys, unwrapTr31, wrapTr31 } from '../../src/codecs/crypto/tr31.ts';

/** TR-31:2018 A.7.3.2 and ANSI X9.143:2021 8.1. */
const published = {
  B: {
    protectionKey: new BlockKey('tdes', fromHex('1D22BF32387C600AD97F9B97A51311AC')),
    block: 'B0104B0TX12S0100KS1800604B120F9292800000BB68BE8680A400D9191AD4ECE45B6E6C0D21C4738A52190E248719E24B433627',
    key: 'E8BC63E5479455E26577F715D587FE68',
  },
  D: {
    protectionKey: new BlockKey('aes', fromHex('88E1AB2A2E3DD38C1FA039A536500CC8A87AB9D62DC92C01058FA79F44657DE6')),
    block:
      'D0144P0AE00E00002C77FA3F4A553BED6E88AE5C172A4166E3D4ACA8E2AC71C158A476FAC12C13C3829DE55D3AB54C48F4C4FEF7AC75E90FC47F1B77E7B19A73ED46E64410082557',
    key: '3F419E1CB7079442AA37474C2EFBF8B8',
  },
};
const versions = ['B', 'D'] as const;
const bytesOf = (key: BlockKey) => key.useBytes((bytes) => toHex(bytes));

/** A key block with a good MAC over any header and payload: only a holder of the protection key can make it. */
function seal(header: string, payload: Uint8Array, protectionKey: BlockKey): string {
  const { encryptionKey, macKey } = deriveTr31Keys(protectionKey);
  const mac = cmac(macKey)(Buffer.concat([Buffer.from(header, 'latin1'), payload]));
  return header + toHex(encryptionKey.encryptCbc(payload, mac)) + toHex(mac);
}

/** Header of a block with `payloadBytes` of payload, with its length. */
function header(rest: string, payloadBytes: number, version: 'B' | 'D' = 'B'): string {
  const macBytes = version === 'B' ? 8 : 16;
  return `${version}${String(5 + rest.length + 2 * (payloadBytes + macBytes)).padStart(4, '0')}${rest}`;
}

test('the header is returned unchanged, optional blocks in their order', () => {
  const { key, ...stated } = unwrapTr31(published.B.block, published.B.protectionKey);
  expect(stated).toEqual({
    version: 'B',
    keyUsage: 'B0',
    algorithm: 'T',
    modeOfUse: 'X',
    keyVersion: '12',
    exportability: 'S',
    optionalBlocks: [{ id: 'KS', data: '00604B120F9292800000' }],
  });
  expect(bytesOf(key)).toBe(published.B.key);
});

describe.each(versions)('version %s', (version) => {
  const { block, protectionKey, key } = published[version];

  test('no character of a block can be changed', () => {
    const replacements = ['0', '1', 'A', 'F', 'Z', ' '];
    for (let position = 0; position < block.length; position++) {
      for (const replacement of replacements) {
        if (block[position] === replacement) continue;
        const tampered = block.slice(0, position) + replacement + block.slice(position + 1);
        expect(() => unwrapTr31(tampered, protectionKey)).toThrow(CryptoError);
      }
    }
  });

  test('a header with other well-formed fields fails at its MAC', () => {
    for (const [position, replacement] of [
      [5, 'K'],
      [8, 'N'],
      [10, '9'],
      [11, 'N'],
      [14, '1'],
    ] as const) {
      const tampered = block.slice(0, position) + replacement + block.slice(position + 1);
      expect(() => unwrapTr31(tampered, protectionKey)).toThrow(new CryptoError('KEY_BLOCK_MAC'));
    }
  });

  test('a block under another protection key fails at its MAC', () => {
    const other = new BlockKey(protectionKey.algorithm, new Uint8Array(protectionKey.lengthBytes).fill(0x5d));
    expect(() => unwrapTr31(block, other)).toThrow(new CryptoError('KEY_BLOCK_MAC'));
  });

  test('a protection key of the other algorithm is refused', () => {
    const other = published[version === 'B' ? 'D' : 'B'].protectionKey;
    expect(() => unwrapTr31(block, other)).toThrow(new CryptoError('KEY_USAGE'));
    expect(() => wrapTr31(other, unwrapTr31(block, protectionKey), other)).toThrow(new CryptoError('KEY_USAGE'));
  });

  test('neither a prefix of a block nor a longer block is accepted', () => {
    for (let length = 0; length < block.length; length++) {
      expect(() => unwrapTr31(block.slice(0, length), protectionKey)).toThrow(new CryptoError('KEY_BLOCK'));
    }
    expect(() => unwrapTr31(`${block}00`, protectionKey)).toThrow(new CryptoError('KEY_BLOCK'));
  });

  test('a truncated block with a corrected length still fails', () => {
    for (let length = 16; length < block.length; length++) {
      const shortened = block[0] + String(length).padStart(4, '0') + block.slice(5, length);
      expect(() => unwrapTr31(shortened, protectionKey)).toThrow(CryptoError);
    }
  });

  test('a created block can be opened, and does not reveal the length of its key', () => {
    const lengths = new Set<number>();
    for (const [algorithm, letter, keyLengths] of [
      ['tdes', 'T', [8, 16, 24]],
      ['aes', 'A', [16, 24, 32]],
    ] as const) {
      lengths.clear();
      for (const length of keyLengths) {
        const wrapped = new BlockKey(
          algorithm,
          Uint8Array.from({ length }, (_, position) => position + 1),
        );
        const stated = {
          version,
          keyUsage: 'P0',
          algorithm: letter,
          modeOfUse: 'B',
          keyVersion: '00',
          exportability: 'N',
        };
        const text = wrapTr31(wrapped, stated, protectionKey);
        const { key: opened, ...header } = unwrapTr31(text, protectionKey);
        expect(header).toEqual({ ...stated, optionalBlocks: [] });
        expect(bytesOf(opened)).toBe(bytesOf(wrapped));
        lengths.add(text.length);
      }
      expect(lengths.size).toBe(1);
    }
  });

  test('the same key makes another block each time', () => {
    const opened = unwrapTr31(block, protectionKey);
    expect(bytesOf(opened.key)).toBe(key);
    expect(wrapTr31(opened.key, opened, protectionKey)).not.toBe(wrapTr31(opened.key, opened, protectionKey));
  });

  test('any text gives a key or a typed error', () => {
    const text = fc.oneof(
      fc.uint8Array({ maxLength: 200 }).map((bytes) => Buffer.from(bytes).toString('latin1')),
      fc
        .string({ unit: fc.constantFrom(...'0123456789ABCDEF'), maxLength: 300 })
        .map((hex) => header(`P0TE00N0000${hex}`, 0, version)),
      fc
        .tuple(fc.nat(block.length), fc.string({ maxLength: 4 }))
        .map(([at, noise]) => block.slice(0, at) + noise + block.slice(at + noise.length)),
    );
    fc.assert(
      fc.property(text, (candidate) => {
        try {
          expect(bytesOf(unwrapTr31(candidate, protectionKey).key)).toBe(key);
        } catch (error) {
          expect(error).toBeInstanceOf(CryptoError);
        }
      }),
      { numRuns: 400 },
    );
  });
});

test('versions A, C and E, and undefined letters, are refused by name', () => {
  for (const version of ['A', 'C', 'E', 'b', '0', ' ']) {
    const text = version + published.B.block.slice(1);
    expect(() => unwrapTr31(text, published.B.protectionKey)).toThrow(new CryptoError('KEY_BLOCK_UNSUPPORTED'));
  }
});

test('a single-length protection key is refused', () => {
  const single = new BlockKey('tdes', new Uint8Array(8));
  expect(() => unwrapTr31(published.B.block, single)).toThrow(new CryptoError('KEY_USAGE'));
});

describe('wrong lengths with a good MAC', () => {
  const { protectionKey } = published.B;
  const payloadOf = (lengthBits: number, bytes = 24) => {
    const payload = new Uint8Array(bytes).fill(0x11);
    new DataView(payload.buffer).setUint16(0, lengthBits);
    return payload;
  };

  test.each([
    0, 1, 7, 63, 65, 127, 129, 176, 192, 200, 0x7fff, 0xfff8, 0xffff,
  ])('a TDES key of %i bits in 22 bytes', (bits) => {
    const block = seal(header('P0TE00N0000', 24), payloadOf(bits), protectionKey);
    expect(() => unwrapTr31(block, protectionKey)).toThrow(new CryptoError('KEY_BLOCK'));
  });

  test('the same block with 128 bits is accepted', () => {
    const block = seal(header('P0TE00N0000', 24), payloadOf(128), protectionKey);
    expect(unwrapTr31(block, protectionKey).key.lengthBytes).toBe(16);
  });

  test('a DES key is single, an AES key at least 128 bits', () => {
    for (const [letter, bits] of [
      ['D', 128],
      ['A', 64],
    ] as const) {
      const block = seal(header(`P0${letter}E00N0000`, 24), payloadOf(bits), protectionKey);
      expect(() => unwrapTr31(block, protectionKey)).toThrow(new CryptoError('KEY_BLOCK'));
    }
  });

  test('an algorithm that is not a supported cipher is refused', () => {
    for (const letter of ['H', 'R', 'E', 'S', '_', 't']) {
      const block = seal(header(`P0${letter}E00N0000`, 24), payloadOf(128), protectionKey);
      expect(() => unwrapTr31(block, protectionKey)).toThrow(new CryptoError('KEY_BLOCK_UNSUPPORTED'));
    }
  });

  test('a payload of the maximum length is opened like any other', () => {
    const bytes = 4_976;
    const block = seal(header('P0TE00N0000', bytes), payloadOf(128, bytes), protectionKey);
    expect(block).toHaveLength(9_984);
    expect(unwrapTr31(block, protectionKey).key.lengthBytes).toBe(16);
  });

  test('optional blocks are read in short and in extended form', () => {
    const long = 'x'.repeat(302);
    const rest = `P0TE00N0200LB0002${(312).toString(16).toUpperCase().padStart(4, '0')}${long}PB080000`;
    const block = seal(header(rest, 24), payloadOf(128), protectionKey);
    expect(unwrapTr31(block, protectionKey).optionalBlocks).toEqual([
      { id: 'LB', data: long },
      { id: 'PB', data: '0000' },
    ]);
  });

  test.each([
    ['99 of them and none there', 'P0TE00N9900'],
    ['a count that is not a number', 'P0TE00NXX00'],
    ['a length of 1', 'P0TE00N0100KS01aaaa'],
    ['a length of 3', 'P0TE00N0100KS03aaaa'],
    ['a length that is not a number', 'P0TE00N0100KSXXaaaa'],
    ['a length in lower case', 'P0TE00N0100KS0aaaaaaaaa'],
    ['a length past the end', 'P0TE00N0100KSFFaaaa'],
    ['an extended length of 1 byte', 'P0TE00N0100KS0001000Caaaaaaaa'],
    ['an extended length of 255 bytes', 'P0TE00N0100KS00FFFFFFaaaaaaaa'],
    ['an extended length of nothing, in text that is hex', 'P0TE00N0100AB00020000AAAAAA'],
    ['an extended length within its own header, in text that is hex', 'P0TE00N0100AB00020008AAAAAA'],
    ['an extended length past the end', 'P0TE00N0100KS0002FFFFaaaaaa'],
  ])('optional blocks: %s', (_, rest) => {
    const padded = rest.padEnd(Math.ceil((5 + rest.length) / 8) * 8 - 5, 'a');
    const block = seal(header(padded, 24), payloadOf(128), protectionKey);
    expect(() => unwrapTr31(block, protectionKey)).toThrow(new CryptoError('KEY_BLOCK'));
  });

  test('optional blocks: an end within a cipher block', () => {
    const block = seal(header('P0TE00N0100KS05a', 24), payloadOf(128), protectionKey);
    expect(() => unwrapTr31(block, protectionKey)).toThrow(new CryptoError('KEY_BLOCK'));
  });

  test('a MAC without a payload is not a key block', () => {
    const text = `${header('P0TE00N0000', 0)}${'0'.repeat(16)}`;
    expect(() => unwrapTr31(text, protectionKey)).toThrow(new CryptoError('KEY_BLOCK'));
  });

  test('text longer than a block can be is refused before it is parsed', () => {
    expect(() => unwrapTr31('B'.repeat(10_000), protectionKey)).toThrow(new CryptoError('KEY_BLOCK'));
    expect(() => unwrapTr31('B'.repeat(5_000_000), protectionKey)).toThrow(new CryptoError('KEY_BLOCK'));
  });
});
