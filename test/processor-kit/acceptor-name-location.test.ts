import { expect, test } from 'vitest';
import { acceptorAddress, acceptorNameLocation } from '../../src/kits/processor-kit/field-values.ts';

test('DE43 is name, city, region and country at their positions', () => {
  expect(acceptorNameLocation({ name: 'Corner Café', city: 'Cape Town', country: 'ZA', mcc: '5812' })).toBe(
    'Corner Cafe            Cape Town      ZA',
  );
});

test('DE43 has 40 characters of ASCII for any merchant name', () => {
  for (const name of ['', 'A name that is far too long for its field', 'Łódź 寿司 & Sønner', '\u0000\n\t']) {
    const field = acceptorNameLocation({ name, city: name, country: 'ZA', mcc: '5812' });
    expect(field).toMatch(/^[\x20-\x7e]{40}$/);
  }
});

test('DE43 of 1993 is name, street and city, each before a backslash, then 16 characters', () => {
  expect(acceptorAddress({ name: 'Corner Café', city: 'Cape Town', country: 'ZA', mcc: '5812' })).toBe(
    'Corner Cafe\\\\Cape Town\\             ZA ',
  );
});

test('DE43 of 1993 has three backslashes and at most 99 characters of ASCII for any merchant name', () => {
  for (const name of ['', 'A name '.repeat(20), 'Łódź 寿司 & Sønner', '\u0000\n\t', 'Left\\Right']) {
    const field = acceptorAddress({ name, city: name, country: 'ZA', mcc: '5812' });
    expect(field).toMatch(/^[\x20-\x7e]{19,99}$/);
    expect(field.split('\\')).toHaveLength(4);
    expect(field.split('\\')[3]).toBe('             ZA ');
  }
});
