import { expect, test } from 'vitest';
import { fromHex } from '../../../src/codecs/bytes/hex.ts';
import { encodeTlv, indexTlv } from '../../../src/codecs/emv/tlv.ts';
import { indexChipTags, keepChipTags, listChipTags } from '../../../src/payments/taps/read-tap.ts';

const VALUES: Readonly<Record<string, string>> = {
  '57': '4111111111111111D31122010000000000',
  '5A': '4111111111111111',
  '5F20': '434152442F484F4C444552',
  '5F24': '311231',
  '99': '1234567890ABCDEF',
  '84': 'A0000000031010',
  '50': '56495341',
  '5F34': '01',
  '9F02': '000000001000',
  '9F26': '1122334455667788',
  '9F27': '80',
};
const tap = indexTlv(
  encodeTlv(Object.entries(VALUES).map(([tag, value]) => ({ tag: Number.parseInt(tag, 16), value: fromHex(value) }))),
);

test('only what DE55 may carry and the names of the application are stored of a tap: no track, PAN, name, expiry or PIN', () => {
  expect(listChipTags(keepChipTags(tap))).toEqual([
    { tag: '84', value: 'A0000000031010' },
    { tag: '5F34', value: '01' },
    { tag: '9F02', value: '000000001000' },
    { tag: '9F26', value: '1122334455667788' },
    { tag: '9F27', value: '80' },
    { tag: '50', value: '56495341' },
  ]);
});

test('nothing is listed for a tap of which nothing was stored', () => {
  expect(listChipTags(null)).toEqual([]);
  expect(indexChipTags(null).has(0x50)).toBe(false);
});
