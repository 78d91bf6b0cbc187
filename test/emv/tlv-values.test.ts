import { expect, test } from 'vitest';
import { fromHex, toHex } from '../../src/codecs/bytes/hex.ts';
import { joinTlv } from '../../src/codecs/emv/tlv-values.ts';
import { tapOf } from './tap-of.ts';

const general = tapOf([0x9f02, '000000001000'], [0x9f27, '80'], [0x9a, '251120']);
const payment = tapOf([0x9f27, '80'], [0x9f26, '1122'], [0x9a, '251121']);
const tap = joinTlv(payment, general);

test('joined blobs contain the values of each', () => {
  expect(tap.hex(0x9f26)).toBe('1122');
  expect(tap.hex(0x9f02)).toBe('000000001000');
  expect([tap.has(0x9f26), tap.has(0x9f02), tap.has(0x57)]).toEqual([true, true, false]);
  expect([tap.value(0x57), tap.hex(0x57), tap.single(0x57)]).toEqual([undefined, undefined, undefined]);
});

test('the first blob that has a tag wins', () => {
  expect(toHex(tap.value(0x9a)!)).toBe('251121');
});

test('an empty value is a value', () => {
  const empty = joinTlv(tapOf([0x9f10, '']), tapOf([0x9f10, 'AA']));
  expect(empty.hex(0x9f10)).toBe('');
  expect(() => empty.single(0x9f10)).toThrow(expect.objectContaining({ code: 'CONFLICTING_VALUES' }));
});

test('a tag that may have only one value may be in both with the same value', () => {
  expect(tap.single(0x9f27)).toEqual(fromHex('80'));
  expect(() => tap.single(0x9a)).toThrow(expect.objectContaining({ code: 'CONFLICTING_VALUES', tag: 0x9a }));
});
