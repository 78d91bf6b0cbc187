import fc from 'fast-check';
import { expect, test } from 'vitest';
import { formatMoment } from '../../src/kits/processor-kit/field-values.ts';

test('formats every time from 1970 to 9999 as Date does, without fractions of a millisecond', () => {
  const moment = fc.double({ min: 0, max: Date.UTC(10_000) - 1, noNaN: true });
  fc.assert(fc.property(moment, (atMs) => formatMoment(atMs) === new Date(atMs).toISOString()));
});

test('the ends of a day', () => {
  for (const text of ['2024-02-29T00:00:00.000Z', '2024-02-29T23:59:59.999Z', '2024-03-01T00:00:00.000Z'])
    expect(formatMoment(Date.parse(text))).toBe(text);
});

test('throws what Date throws for an invalid time', () => {
  expect(() => formatMoment(Number.NaN)).toThrow(RangeError);
});
