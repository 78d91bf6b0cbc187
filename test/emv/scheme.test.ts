import { describe, expect, test } from 'vitest';
import { fromHex } from '../../src/codecs/bytes/hex.ts';
import { aidOf, schemeOf, schemeOfAid, schemeOfPan } from '../../src/codecs/emv/scheme.ts';
import { tapOf } from './tap-of.ts';

describe('from the AID', () => {
  test.each([
    ['A0000000031010', 'Visa'],
    ['A0000000032010', 'Visa'],
    ['A0000000980840', 'Visa'],
    ['A0000000041010', 'Mastercard'],
    ['A0000000043060', 'Maestro'],
    ['A0000000042203', 'Maestro'],
    ['A000000025010801', 'Amex'],
    ['A0000000651010', 'JCB'],
    ['A000000333010101', 'UnionPay'],
    ['A0000001523010', 'Discover'],
    ['A0000002771010', 'Interac'],
    ['A0000005241010', 'RuPay'],
  ])('%s is %s', (aid, scheme) => {
    expect(schemeOfAid(aid)).toBe(scheme);
    expect(schemeOfAid(aid.toLowerCase())).toBe(scheme);
    expect(schemeOfAid(fromHex(aid))).toBe(scheme);
    expect(schemeOfAid(`${aid}0102`)).toBe(scheme);
  });

  test('the longest prefix wins: Maestro before Mastercard', () => {
    expect(schemeOfAid('A000000004306001')).toBe('Maestro');
    expect(schemeOfAid('A000000004306F')).toBe('Mastercard');
  });

  test.each(['', 'A0000000', 'B000000003', '325041592E5359532E4444463031'])('%j is unknown', (aid) => {
    expect(schemeOfAid(aid)).toBeUndefined();
  });
});

describe('from the PAN', () => {
  test.each([
    ['4111111111111111', 'Visa'],
    ['5555555555554444', 'Mastercard'],
    ['2223003122003222', 'Mastercard'],
    ['2221000000000009', 'Mastercard'],
    ['2720990000000007', 'Mastercard'],
    ['6759649826438453', 'Maestro'],
    ['378282246310005', 'Amex'],
    ['3530111333300000', 'JCB'],
    ['6200000000000005', 'UnionPay'],
    ['6011111111111117', 'Discover'],
    ['30569309025904', 'Discover'],
  ])('%s is %s', (pan, scheme) => {
    expect(schemeOfPan(pan)).toBe(scheme);
  });

  test.each([
    '2220990000000000',
    '2721000000000000',
    '3527000000000000',
    '3590000000000000',
    '9999999999999999',
    '2',
    '',
  ])('%j is unknown', (pan) => {
    expect(schemeOfPan(pan)).toBeUndefined();
  });
});

describe('of a tap', () => {
  const VISA_PAN = '4111111111111111';

  test('the AID decides, with any PAN', () => {
    expect(schemeOf(tapOf([0x84, 'A0000002771010']), VISA_PAN)).toBe('Interac');
  });

  test('the PAN decides only if there is no AID', () => {
    expect(schemeOf(tapOf([0x9f27, '80']), VISA_PAN)).toBe('Visa');
    expect(schemeOf(tapOf([0x84, 'A000000999']), VISA_PAN)).toBeUndefined();
  });

  test('84 is preferred to 4F, and 4F to 9F06', () => {
    const visa = 'A0000000031010';
    const maestro = 'A0000000043060';
    expect(aidOf(tapOf([0x9f06, maestro], [0x4f, maestro], [0x84, visa]))).toBe(visa);
    expect(aidOf(tapOf([0x9f06, maestro], [0x4f, visa]))).toBe(visa);
    expect(aidOf(tapOf([0x9f06, visa]))).toBe(visa);
    expect(aidOf(tapOf([0x9a, '251120']))).toBeUndefined();
  });
});
