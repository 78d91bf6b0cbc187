import { expect, test } from 'vitest';
import { localDateTime, transmissionDateTime } from '../../src/kits/processor-kit/field-values.ts';

const NOON = Date.UTC(2026, 5, 30, 12, 34, 56, 789);

test('a terminal shows the local time of its zone', () => {
  expect(localDateTime(NOON, 'UTC')).toBe('20260630123456');
  expect(localDateTime(NOON, 'Africa/Johannesburg')).toBe('20260630143456');
  expect(localDateTime(NOON, 'America/St_Johns')).toBe('20260630100456');
  expect(localDateTime(NOON, 'Asia/Kathmandu')).toBe('20260630181956');
});

test('the date is the terminal’s, too: it may be yesterday or tomorrow', () => {
  expect(localDateTime(Date.UTC(2026, 11, 31, 23, 30), 'Pacific/Auckland')).toBe('20270101123000');
  expect(localDateTime(Date.UTC(2027, 0, 1, 3, 0), 'America/New_York')).toBe('20261231220000');
});

test('summer time begins between two seconds, regardless of earlier calls', () => {
  const change = Date.UTC(2026, 2, 29, 1, 0, 0);
  expect(localDateTime(change - 1_000, 'Europe/Berlin')).toBe('20260329015959');
  expect(localDateTime(change, 'Europe/Berlin')).toBe('20260329030000');
  expect(localDateTime(change - 1_000, 'Europe/Berlin')).toBe('20260329015959');
});

test('an unknown zone is refused', () => {
  expect(() => localDateTime(NOON, 'Nowhere/At_All')).toThrow(RangeError);
});

test('DE7 is month, day and time in UTC', () => {
  expect(transmissionDateTime(NOON)).toBe('0630123456');
});
