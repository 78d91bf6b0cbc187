import { expect, test } from 'vitest';
import { fromHex, toHex } from '../../src/codecs/bytes/hex.ts';
import { combineComponents, kcvOfComponent, readComponent } from '../../src/codecs/crypto/key-components.ts';
import { kcv } from '../../src/codecs/crypto/mac.ts';

const typed = (text: string) => Buffer.from(text, 'latin1');
const ONE = '0123456789ABCDEFFEDCBA9876543210';
const OTHER = '1111111111111111222222222222222A';

test('a component is read from hex in groups, in either case', () => {
  const read = readComponent(typed('0123 4567-89ab cdef fedc ba98 7654 3210'), 16);
  expect(toHex(read)).toBe(ONE);
  expect(kcvOfComponent('tdes', read)).toBe('08D7B4');
});

test.each([
  ['too short', ONE.slice(1), 'KEY_LENGTH'],
  ['too long', `${ONE}0`, 'KEY_LENGTH'],
  ['no hex', `${ONE.slice(1)}G`, 'KEY_LENGTH'],
  ['a character between the digits and the letters', `${ONE.slice(1)}@`, 'KEY_LENGTH'],
  ['only zeros', '0'.repeat(32), 'KEY_TOO_WEAK'],
])('a component that is %s is refused', (_what, text, code) => {
  expect(() => readComponent(typed(text), 16)).toThrow(expect.objectContaining({ code }));
});

test('a key is the exclusive or of its components, with odd parity, and both components are wiped', () => {
  const [one, other] = [fromHex(ONE), fromHex(OTHER)];
  const key = combineComponents('tdes', one, other);
  expect(key.useBytes((bytes) => toHex(bytes))).toBe('1032547698BADCFEDCFE98BA5476103B');
  expect(kcv(key)).toBe('463C64');
  expect([...one, ...other].every((byte) => byte === 0)).toBe(true);
});

test('equal components, and components of different lengths, are refused and wiped', () => {
  const [one, other] = [fromHex(ONE), fromHex(ONE)];
  expect(() => combineComponents('aes', one, other)).toThrow('KEY_TOO_WEAK');
  expect([...one, ...other].every((byte) => byte === 0)).toBe(true);
  expect(() => combineComponents('aes', fromHex(ONE), fromHex(`${ONE}${ONE}`))).toThrow('KEY_LENGTH');
});
