import { expect, test } from 'vitest';
import { readWanted } from '../../../src/console/transaction-browser.ts';

const hashes = (pan: string) => [`new:${pan.length}`, `old:${pan.length}`];
const read = (text: string) => readWanted(text, hashes);
const kinds = (text: string) => read(text).map(({ by }) => by);

/** As the page decides it, which keeps such a text out of its address. */
const { mayBeCard } = (await import(new URL('../../../src/console/page/may-be-card.js', import.meta.url).href)) as {
  mayBeCard(text: string): boolean;
};

test.each([
  '4111111111111111',
  ' 4111 1111 1111 1111 ',
  '4111-1111-1111-1111',
  '6759649826438453',
  '4222222222222',
  '4111\u00a01111\u00a01111\u00a01111',
  '4111.1111.1111.1111',
  '4111\u20111111\u20111111\u20111111',
])('a card number is searched for with its hashes under every key, and is used nowhere else: %s', (text) => {
  const digits = text.replace(/\D/g, '');
  expect(read(text)).toEqual([{ by: 'panHash', value: hashes(digits) }]);
  expect(JSON.stringify(read(text))).not.toContain(digits);
  expect(mayBeCard(text)).toBe(true);
});

test.each([
  '4111111111111111 12/30',
  'card 4111111111111111',
  '4111111111111111=30122010000000000',
  '4111111111111111D30122010000000000',
])('a card number beside other text is searched for with its hashes alone: %s', (text) => {
  expect(read(text)).toEqual([{ by: 'panHash', value: hashes('4111111111111111') }]);
  expect(mayBeCard(text)).toBe(true);
});

test('a card number in groups beside other text is in no address', () => {
  for (const text of ['4111 1111 1111 1111 12/30', 'card 4111.1111.1111.1111', '4111-1111-1111-1111=3012'])
    expect(mayBeCard(text), text).toBe(true);
});

test.each([
  'b0c0a7d0-6a53-4d1e-9d43-5a4f8f0f1c11',
  '632418000010',
  '411111******1111',
  'order 4711',
  '2026-11-27T10:00:00.000Z',
  '000123 T100',
  'ZAR 1234.00',
])('other text may be in an address: %s', (text) => expect(mayBeCard(text)).toBe(false));

test('any other text may be a reference, too', () => {
  expect(kinds('b0c0a7d0-6a53-4d1e-9d43-5a4f8f0f1c11')).toEqual(['id', 'reference']);
  expect(kinds('632418000010')).toEqual(['reference', 'rrn']);
  expect(kinds('000010')).toEqual(['reference', 'stan']);
  expect(kinds('411111******1111')).toEqual(['maskedPan', 'reference']);
  expect(kinds(`k1:${'A'.repeat(43)}`)).toEqual(['panHash', 'reference']);
  expect(kinds('order 4711')).toEqual(['reference', 'merchantName']);
  expect(kinds('__proto__')).toEqual(['reference', 'merchantName']);
  expect(kinds('1111')).toEqual(['reference', 'lastFour']);
  expect(kinds('4711')).toEqual(['reference', 'lastFour']);
  expect(kinds('47')).toEqual(['reference']);
});

test.each([
  ['10.00', { major: '10.00', currency: undefined }],
  ['10,5', { major: '10.5', currency: undefined }],
  ['zar 10', { major: '10', currency: 'ZAR' }],
  ['1234 ZAR', { major: '1234', currency: 'ZAR' }],
])('%s is an amount', (text, value) => {
  expect(read(text)).toContainEqual({ by: 'amount', value });
});

test.each(['10', '1.2.3', 'ZAR', 'ZAR 10 EUR', '-5.00', '1e3', '10.'])('%s is no amount', (text) => {
  expect(kinds(text)).not.toContain('amount');
});

test.each(['000123 T100', 'T100 000123', '000123, T100', '000123/T100'])('%s is a STAN and a terminal', (text) => {
  expect(read(text)).toContainEqual({ by: 'stanAndTerminal', value: { stan: '000123', terminal: 'T100' } });
});

test('digits without a check digit are not a card', () => {
  expect(kinds('4111111111111112')).toEqual(['reference']);
});
