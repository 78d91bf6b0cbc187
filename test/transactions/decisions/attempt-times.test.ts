import { expect, test } from 'vitest';
import { transmissionDateTime } from '../../../src/kits/processor-kit/field-values.ts';
import { stampAfter } from '../../../src/payments/decisions/reversal-steps.ts';

const SENT_AT_MS = Date.parse('2026-03-01T10:20:30.400Z');
const original = { sentAtMs: SENT_AT_MS };

test('a reversal sent within the second of its original has another DE7', () => {
  const stamped = stampAfter(original, [], SENT_AT_MS + 300);
  expect(transmissionDateTime(stamped)).toBe('0301102031');
});

test('a reversal from a node whose clock is behind has a DE7 that its original and its other attempts do not have', () => {
  const behindMs = SENT_AT_MS - 60_000;
  const first = stampAfter(original, [], behindMs);
  const second = stampAfter(original, [{ sentAtMs: first }], behindMs);
  expect([first, second].map(transmissionDateTime)).toEqual(['0301102031', '0301102032']);
});

test('a reversal has the second in which it is sent if that differs from those of the others', () => {
  expect(stampAfter(original, [{ sentAtMs: SENT_AT_MS + 2_600 }], SENT_AT_MS + 30_900)).toBe(SENT_AT_MS + 30_600);
});
