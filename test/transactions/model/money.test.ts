import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { MoneyError } from '../../../src/basics/errors.ts';
import {
  currencyOf,
  findCurrency,
  formatAmount,
  MAX_AMOUNT_MINOR,
  parseAmount,
} from '../../../src/payments/model/money.ts';

const ZAR = currencyOf('ZAR');
const JPY = currencyOf('JPY');
const BHD = currencyOf('BHD');

function codeOf(text: string, currency = ZAR): string {
  try {
    parseAmount(text, currency);
  } catch (error) {
    if (error instanceof MoneyError) return error.code;
    throw error;
  }
  return 'none';
}

describe('currencies', () => {
  test.each([
    ['ZAR', '710', 2],
    ['USD', '840', 2],
    ['EUR', '978', 2],
    ['ALL', '008', 2],
    ['JPY', '392', 0],
    ['KRW', '410', 0],
    ['ISK', '352', 0],
    ['XCG', '532', 2],
    ['VED', '926', 2],
    ['BHD', '048', 3],
    ['KWD', '414', 3],
    ['TND', '788', 3],
    ['CLF', '990', 4],
    ['UYW', '927', 4],
  ])('%s is %s and has %i decimals', (code, numeric, exponent) => {
    expect(findCurrency(code)).toEqual({ code, numeric, exponent });
    expect(findCurrency(numeric)).toEqual({ code, numeric, exponent });
  });

  test.each(['', 'ZZZ', '000', 'zar', '71', '0710', 'toString'])('%j is not one', (text) => {
    expect(findCurrency(text)).toBeUndefined();
    expect(() => currencyOf(text)).toThrow(MoneyError);
  });

  test('a number is not a code', () => {
    expect(() => currencyOf('710')).toThrow(MoneyError);
  });
});

describe('decimal text', () => {
  test.each([
    ['10', ZAR, 1_000],
    ['10.5', ZAR, 1_050],
    ['0.0001', currencyOf('CLF'), 1],
    ['1.25', currencyOf('UYW'), 12_500],
    ['10.00', ZAR, 1_000],
    ['0.01', ZAR, 1],
    ['0', ZAR, 0],
    ['007.10', ZAR, 710],
    ['9999999999.99', ZAR, MAX_AMOUNT_MINOR],
    ['1000', JPY, 1_000],
    ['999999999999', JPY, MAX_AMOUNT_MINOR],
    ['1.234', BHD, 1_234],
    ['999999999.999', BHD, MAX_AMOUNT_MINOR],
  ])('%s in %o is %i minor units', (text, currency, minor) => {
    expect(parseAmount(text, currency)).toBe(minor);
  });

  test.each([
    '',
    ' 1',
    '1 ',
    '-1',
    '+1',
    '1,00',
    '1.',
    '.5',
    '1e3',
    '0x10',
    '١',
    'NaN',
    'Infinity',
    '1.2.3',
    '12345678901234',
    '1.1234567',
  ])('%j is not an amount', (text) => {
    expect(codeOf(text)).toBe('NOT_AN_AMOUNT');
  });

  test('more decimals than the currency has are refused, zeros too', () => {
    expect(codeOf('1.001')).toBe('TOO_MANY_DECIMALS');
    expect(codeOf('1.000')).toBe('TOO_MANY_DECIMALS');
    expect(codeOf('1.0', JPY)).toBe('TOO_MANY_DECIMALS');
    expect(codeOf('1.0000', BHD)).toBe('TOO_MANY_DECIMALS');
  });

  test('more than twelve digits of minor units are refused', () => {
    expect(codeOf('10000000000.00')).toBe('AMOUNT_TOO_LARGE');
    expect(codeOf('1000000000000', JPY)).toBe('AMOUNT_TOO_LARGE');
  });
});

describe('minor units as text', () => {
  test.each([
    [1_000, ZAR, '10.00'],
    [1, ZAR, '0.01'],
    [0, ZAR, '0.00'],
    [1_000, JPY, '1000'],
    [0, JPY, '0'],
    [1, BHD, '0.001'],
    [MAX_AMOUNT_MINOR, ZAR, '9999999999.99'],
  ])('%i in %o is %s', (minor, currency, text) => {
    expect(formatAmount(minor, currency)).toBe(text);
  });

  test('round-trip in every currency', () => {
    const amounts = fc.integer({ min: 0, max: MAX_AMOUNT_MINOR });
    fc.assert(
      fc.property(amounts, fc.constantFrom(ZAR, JPY, BHD), (minor, currency) => {
        expect(parseAmount(formatAmount(minor, currency), currency)).toBe(minor);
      }),
    );
  });
});
