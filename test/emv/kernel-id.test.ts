import { describe, expect, test } from 'vitest';
import { kernelIdOf } from '../../src/codecs/emv/scheme.ts';
import { tapOf } from './tap-of.ts';

describe('the kernel of a tap', () => {
  test.each([
    ['A0000000041010', '02'],
    ['A0000000043060', '02'],
    ['A0000000031010', '03'],
    ['A000000025010801', '04'],
    ['A0000000651010', '05'],
    ['A0000001523010', '06'],
    ['A000000333010101', '07'],
  ])('the kernel of a tap of the application %s is %s by default', (aid, kernel) => {
    expect(kernelIdOf(tapOf([0x84, aid]))).toBe(kernel);
  });

  test.each([
    ['03', '03'],
    ['03FFFF', '03'],
    ['81123456', '811234'],
    ['C21234', 'C21234'],
  ])('is the value of 9F2A: %s is %s', (identifier, kernel) => {
    expect(kernelIdOf(tapOf([0x84, 'A0000000041010'], [0x9f2a, identifier]))).toBe(kernel);
  });

  test.each(['00', '40', '80', ''])('is that of the application if 9F2A, %j, names none', (identifier) => {
    expect(kernelIdOf(tapOf([0x84, 'A0000000041010'], [0x9f2a, identifier]))).toBe('02');
  });

  test('is unknown for an unknown application, and without one', () => {
    expect(kernelIdOf(tapOf([0x84, 'A0000002281010']))).toBeUndefined();
    expect(kernelIdOf(tapOf([0x9c, '00']))).toBeUndefined();
  });
});
