import { expect, test } from 'vitest';
import { readWanted } from '../../../src/ops/console/read-wanted.ts';

const hashes = (pan: string) => [`new:${pan.length}`, `old:${pan.length}`];
const read = (text: string) => readWanted(text, hashes);
const kinds = (text: string) => read(text).map(({ by }) => by);

test.each([
  '4111111111111111',
  ' 4111 1111 1111 1111 ',
  '4111-1111-1111-1111',
  '6759649826438453',
  '4222222222222',
])('a card number is searched for with its hashes under every key, and is used nowhere else: %s', (text) => {
  const digits = text.replace(/\D/g, '');
  expect(read(text)).toEqual([{ by: 'panHash', value: hashes(digits) }]);
  expect(JSON.stringify(read(text))).not.toContain(digits);
});

test('any other text may be a reference, too', () => {
  expect(kinds('b0c0a7d0-6a53-4d1e-9d43-5a4f8f0f1c11')).toEqual(['id', 'reference']);
  expect(kinds('632418000010')).toEqual(['reference', 'rrn']);
  expect(kinds('000010')).toEqual(['reference', 'stan']);
  expect(kinds('411111******1111')).toEqual(['maskedPan', 'reference']);
  expect(kinds(`k1:${'A'.repeat(43)}`)).toEqual(['panHash', 'reference']);
  expect(kinds('order 4711')).toEqual(['reference']);
  expect(kinds('__proto__')).toEqual(['reference']);
});

test('digits without a check digit are not a card', () => {
  expect(kinds('4111111111111112')).toEqual(['reference']);
});

test('uncertain transactions are searched for with a keyword', () => {
  expect(read(' is:owed')).toEqual([{ by: 'owed' }]);
  expect(read('is:review')).toEqual([{ by: 'review' }]);
});
