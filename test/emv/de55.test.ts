import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { fromHex, toHex } from '../../src/codecs/bytes/hex.ts';
import { buildDe55, DE55_TAGS, issuerTags, writeDe55 } from '../../src/codecs/emv/de55.ts';
import { tagMeanings } from '../../src/codecs/emv/tags.ts';
import { encodeTlv, indexTlv } from '../../src/codecs/emv/tlv.ts';
import { joinTlv } from '../../src/codecs/emv/tlv-values.ts';
import { tapOf } from './tap-of.ts';

/** Track 1, track 2, PAN, name, expiry, PIN, extended name, discretionary data of both tracks. */
const FORBIDDEN = [0x56, 0x57, 0x5a, 0x5f20, 0x5f24, 0x99, 0x9f0b, 0x9f1f, 0x9f20];

const PAN = '4111111111111111';
const payment = tapOf(
  [0x57, `${PAN}D2512201`],
  [0x5a, PAN],
  [0x5f34, '01'],
  [0x9f26, '1122334455667788'],
  [0x99, '041234'],
  [0xdf8a11, '00'],
);
const general = tapOf(
  [0x9f02, '000000001000'],
  [0x9f27, '80'],
  [0x84, 'A0000000031010'],
  [0x50, '56495341'],
  [0xdf8a01, '31'],
);
const tap = joinTlv(payment, general);

describe('buildDe55', () => {
  test('writes the allowed tags of a tap in a fixed order', () => {
    expect(toHex(buildDe55(tap))).toBe(
      ['8407A0000000031010', '5F340101', '9F0206000000001000', '9F26081122334455667788', '9F270180'].join(''),
    );
  });

  test('writes none of the forbidden tags, for any tap', () => {
    const everyTag = tapOf(...[...FORBIDDEN, ...DE55_TAGS, 0x9f6b, 0x50, 0xdf8a11].map((tag) => [tag, 'AA'] as const));
    expect([...indexTlv(buildDe55(everyTag))].map(({ tag }) => tag)).toEqual([...DE55_TAGS]);
  });

  test('no switch can have a tag outside the list, or another order', () => {
    expect(toHex(buildDe55(tap, [0x9f27, 0x57, 0x84, 0x50]))).toBe('8407A00000000310109F270180');
  });

  test('a tap without allowed tags gives an empty field', () => {
    expect(buildDe55(tapOf([0x57, PAN]))).toHaveLength(0);
  });

  test('two different cryptograms are refused', () => {
    expect(() => buildDe55(tapOf([0x9f26, '11'], [0x9f26, '22']))).toThrow(
      expect.objectContaining({ code: 'CONFLICTING_VALUES' }),
    );
  });

  test('a value that exceeds three digits of length is refused', () => {
    expect(() => buildDe55(tapOf([0x9f10, 'AA'.repeat(995)]))).toThrow(expect.objectContaining({ code: 'TOO_LARGE' }));
    expect(buildDe55(tapOf([0x9f10, 'AA'.repeat(994)]))).toHaveLength(999);
  });
});

test('writeDe55 writes at the given offset and returns the end', () => {
  const target = new Uint8Array(64).fill(0xee);
  const end = writeDe55(tap, target, 3);
  expect(toHex(target, 3, end)).toBe(toHex(buildDe55(tap)));
  expect([target[2], target[end]]).toEqual([0xee, 0xee]);
});

test('the allow-list has no tag that any scheme marks as card data', () => {
  for (const tag of FORBIDDEN) expect(DE55_TAGS).not.toContain(tag);
  for (const tag of DE55_TAGS) {
    expect(tagMeanings(tag).map(({ secrecy }) => secrecy)).toEqual(tagMeanings(tag).map(() => undefined));
  }
});

test('DE55 reads back as its allowed values for any tap', () => {
  const value = fc.uint8Array({ maxLength: 20 });
  const tags = fc.uniqueArray(fc.constantFrom(...DE55_TAGS, ...FORBIDDEN), { maxLength: 20 });
  fc.assert(
    fc.property(tags, value, (present, bytes) => {
      const read = indexTlv(buildDe55(indexTlv(encodeTlv(present.map((tag) => ({ tag, value: bytes }))))));
      expect([...read].map(({ tag }) => tag)).toEqual(DE55_TAGS.filter((tag) => present.includes(tag)));
      for (const object of read) expect(object.value).toEqual(bytes);
    }),
  );
});

describe('issuerTags', () => {
  test('returns the values that the issuer sent for the card, repeated scripts in their order', () => {
    const response = indexTlv(
      fromHex('910A112233445566778899AA' + '7106860400DA9F58' + '7203AABBCC' + '71021234' + '8A023030' + '9F360200FF'),
      {
        onBadChild: 'opaque',
      },
    );
    expect(issuerTags(response)).toEqual([
      { tag: '91', value: '112233445566778899AA' },
      { tag: '71', value: '860400DA9F58' },
      { tag: '72', value: 'AABBCC' },
      { tag: '71', value: '1234' },
      { tag: '8A', value: '3030' },
    ]);
  });

  test('returns nothing from inside another template', () => {
    expect(issuerTags(indexTlv(fromHex('77048A023035')))).toEqual([]);
  });
});
