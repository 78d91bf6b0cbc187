import fc from 'fast-check';
import { expect, test } from 'vitest';
import { singleTapData, singleTapFlag } from '../../src/kits/processor-kit/classify-outcome.ts';

test('the flag is subelement 22, subfield 04, value 1', () => {
  expect(singleTapData()).toBe('220504011');
  expect(singleTapFlag(singleTapData())).toBe(true);
  expect(singleTapFlag('2102XX22110102AB04011')).toBe(true);
});

test.each([
  '',
  '22',
  '2205',
  '22050401',
  '220504010',
  '210504011',
  '2299040',
  '22AB04011',
  '220401XX',
])('DE48 "%s" does not request a PIN', (additionalData) => {
  expect(singleTapFlag(additionalData)).toBe(false);
});

test('any text gets a response', () => {
  fc.assert(fc.property(fc.string({ maxLength: 999 }), (text) => typeof singleTapFlag(text) === 'boolean'));
});
