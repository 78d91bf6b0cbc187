import { expect, test } from 'vitest';
import { findCountry } from '../../../src/payments/model/countries.ts';

/** Every country that ICU knows with its number, as the number's canonical form. */
const numbers = Array.from({ length: 900 }, (_, index) => String(index + 1).padStart(3, '0'));
const known = numbers.flatMap((numeric) => findCountry(numeric) ?? []);

test('all 249 countries of ISO 3166-1 are found with letters and with digits', () => {
  expect(known).toHaveLength(249);
  for (const country of known) expect(findCountry(country.code)).toBe(country);
});

test('letters and digits correspond as in Unicode', () => {
  for (const { code, numeric } of known) expect(Intl.getCanonicalLocales(`und-${numeric}`)).toEqual([`und-${code}`]);
});

test.each(['', 'XX', 'za', '000', '0710', '71', 'toString'])('%j is not a country', (text) => {
  expect(findCountry(text)).toBeUndefined();
});
