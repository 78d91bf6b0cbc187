import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { TlvError } from '../../src/basics/errors.ts';
import { fromHex, toHex } from '../../src/codecs/bytes/hex.ts';
import { tlvRows } from '../../src/codecs/emv/describe-tlv.ts';
import { maskTlv } from '../../src/codecs/emv/mask-tlv.ts';
import { indexTlv } from '../../src/codecs/emv/tlv.ts';

function masked(hex: string): string {
  const bytes = fromHex(hex);
  maskTlv(bytes);
  return toHex(bytes);
}

const rows = (hex: string) => tlvRows(indexTlv(fromHex(hex), { onBadChild: 'opaque' }));

/** Values of tags that identify a card, and of some that do not. */
const objects = fc
  .record({
    tag: fc.constantFrom(
      '57',
      '5A',
      '5F20',
      '5F24',
      '56',
      '9F1F',
      '9F20',
      '99',
      '9F26',
      '9F02',
      '95',
      '9F6E',
      '84',
      'DF8A11',
    ),
    value: fc.oneof(
      fc.uint8Array({ maxLength: 20 }).map((bytes) => toHex(bytes)),
      fc.constantFrom(
        '4111111111111111D2512201',
        '5413330089010640',
        '374245001751006F',
        '67999989000000600'.padEnd(20, 'F'),
      ),
    ),
  })
  .map(({ tag, value }) => tag + (value.length / 2).toString(16).padStart(2, '0').toUpperCase() + value);

const blobs = fc
  .array(
    fc.oneof(
      objects,
      objects.map((inner) => `70${(inner.length / 2).toString(16).padStart(2, '0')}${inner}`),
    ),
    {
      maxLength: 8,
    },
  )
  .map((parts) => parts.join(''));

describe('masked TLV', () => {
  test('has the same description as before', () => {
    fc.assert(
      fc.property(blobs, (hex) => {
        const withheldAid = rows(hex).some(({ tag, withheld }) => tag === '84' && withheld);
        if (!withheldAid) expect(rows(masked(hex))).toEqual(rows(hex));
      }),
    );
  });

  test('contains of every withheld value only the digits of a PAN that may be shown', () => {
    fc.assert(
      fc.property(blobs, (hex) => {
        const bytes = fromHex(masked(hex));
        const withheld = tlvRows(indexTlv(fromHex(hex), { onBadChild: 'opaque' })).map((row) => row.withheld);
        for (const [at, { tag, constructed, value }] of [...indexTlv(bytes, { onBadChild: 'opaque' })].entries()) {
          if (!withheld[at]) continue;
          const left = toHex(value)
            .replaceAll(constructed ? /8/g : /[0A]/g, '')
            .replace(/[DF]/g, '');
          expect(left.length).toBeLessThanOrEqual(tag === 0x5a || tag === 0x57 ? 10 : 0);
        }
      }),
    );
  });

  test.each([
    ['57 of 16 digits', '57104111111111111111D25122010000000F', '57104111110000001111D00000000000000F'],
    ['5A of 15 digits', '5A08374245001751006F', '5A08374245000001006F'],
    ['5A of 12 digits', '5A06411111111111', '5A06000000001111'],
    ['5A that is not a PAN', '5A024111', '5A02AAAA'],
    ['57 without a separator', '5708411111111111111F', '5708AAAAAAAAAAAAAAAA'],
    ['a name', '5F200A4A4F484E2F534D495448', '5F200A00000000000000000000'],
    ['a template kept as bytes', '71054104111199', '71058080808080'],
  ])('masked TLV hides %s', (_, hex, expected) => {
    expect(masked(hex)).toBe(expected);
  });

  test('cannot be made from invalid TLV: a typed error, and nothing is overwritten', () => {
    const bytes = fromHex('5A084111');
    expect(() => maskTlv(bytes)).toThrow(TlvError);
    expect(toHex(bytes)).toBe('5A084111');
  });
});
