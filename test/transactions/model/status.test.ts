import { describe, expect, test } from 'vitest';
import {
  canMove,
  MUST_NOT_REST,
  moves,
  Status,
  type StatusId,
  statusName,
} from '../../../src/payments/model/status.ts';

const ALL = Object.values(Status);

/** The transitions of the published states and the design, written a second time. */
const ALLOWED: readonly (readonly [from: StatusId | null, to: readonly StatusId[]])[] = [
  [null, [0, 1]],
  [0, [1]], // the reference is submitted again
  [1, [2, 3, 8, 9]],
  [2, [1]],
  [3, [4, 8, 9]],
  [4, [3, 5, 6, 7, 8, 9]],
  [5, [8, 9]],
  [6, [8, 9]],
  [7, [8, 9]],
  [8, [1, 10]], // 1: the PIN, or another attempt
  [9, [1, 8, 10]],
  [10, []],
];

describe.each(ALLOWED)('from %s', (from, allowed) => {
  test.each(ALL)('to %s', (to) => {
    expect(canMove(from, to)).toBe(allowed.includes(to));
  });

  test.each(ALL.filter((to) => !allowed.includes(to)))('a transition to %s is a fault of the gateway', (to) => {
    expect(() => moves(from, [to], 0)).toThrow(/No move from/);
  });
});

test('every status has its transitions listed', () => {
  expect(ALLOWED.map(([from]) => from)).toEqual([null, ...ALL]);
});

test('a path is expanded transition by transition, with the names and the time of the records', () => {
  const nowMs = Date.parse('2026-03-01T10:00:00.123Z');
  const at = '2026-03-01T10:00:00.123Z';
  expect(moves(null, [Status.RequestReceived, Status.ReadyToSubmitToPaymentProcessor], nowMs)).toEqual([
    { from: null, to: 'RequestReceived', at },
    { from: 'RequestReceived', to: 'ReadyToSubmitToPaymentProcessor', at },
  ]);
});

test('a path with one wrong transition is refused as a whole', () => {
  const path = [Status.RequestReceived, Status.SubmittedToPaymentProcessor];
  expect(() => moves(null, path, 0)).toThrow('No move from RequestReceived to SubmittedToPaymentProcessor');
});

test('the statuses that must not rest are those that still lead to a phone', () => {
  expect(MUST_NOT_REST.map(statusName)).toEqual([
    'RequestReceived',
    'ReadyToSubmitToPaymentProcessor',
    'SubmittedToPaymentProcessor',
    'NoResponseFromPaymentProcessor',
    'BadResponseFromPaymentProcessor',
    'ResponseReceivedFromPaymentProcessor',
  ]);
});
