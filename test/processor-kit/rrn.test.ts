import { expect, test } from 'vitest';
import { otherStan, retrievalReference } from '../../src/kits/processor-kit/field-values.ts';

test('an RRN is the last digit of the year, the day of the year, the hour and the STAN, in UTC', () => {
  expect(retrievalReference(Date.UTC(2026, 0, 1, 0, 0, 0), '000001')).toBe('600100000001');
  expect(retrievalReference(Date.UTC(2026, 10, 20, 14, 59, 59), '123456')).toBe('632414123456');
  expect(retrievalReference(Date.UTC(2028, 11, 31, 23, 0, 0), '999999')).toBe('836623999999');
});

test('another STAN is valid, never the same, and far from the first', () => {
  for (const stan of ['000001', '000002', '499999', '500000', '999999']) {
    const other = otherStan(stan);
    expect(other).toMatch(/^\d{6}$/);
    expect(Number(other)).toBeGreaterThan(0);
    expect(Math.abs(Number(other) - Number(stan))).toBeGreaterThan(1_000);
  }
});
