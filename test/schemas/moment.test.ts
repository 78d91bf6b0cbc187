import { expect, test } from 'vitest';
import { day, moment } from '../../schemas/moment.ts';

test.each([
  '2026-03-01T10:20:30Z',
  '0001-01-01T00:00:00Z',
  '9999-12-31T23:59:59.999999Z',
  '2026-03-01T10:20:30+14:00',
  '2026-03-01T10:20:30-12:00',
])('%s is a time', (text) => expect(moment.parse(text)).toBe(text));

test.each([
  '0000-01-01T00:00:00Z',
  '2026-03-01T10:20:30+23:59',
  '2026-03-01T10:20:30-16:00',
  '2026-02-31T10:20:30Z',
  '2026-03-01T10:20:30',
  '+275760-09-13T00:00:00.001Z',
])('%s is not a time that the database knows', (text) => expect(moment.safeParse(text).success).toBe(false));

test('a year 0 has no days', () => {
  expect(day.safeParse('0000-12-31').success).toBe(false);
  expect(day.parse('0001-01-01')).toBe('0001-01-01');
});
