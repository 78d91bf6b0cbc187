import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { msUntil, startTimetable } from '../../src/tools/simulator/start-simulator.ts';
import { BusinessDay } from '../../src/tools/simulator/switch-server.ts';

const HOUR_MS = 3_600_000;

describe('a timetable', () => {
  beforeEach(() => void vi.useFakeTimers({ now: Date.UTC(2026, 10, 23, 21, 30) }));
  afterEach(() => void vi.useRealTimers());

  test('asks for echoes and sign-offs at their intervals, and cuts over once a day at its time', () => {
    const asked: string[] = [];
    const acts = { ask: async (kind: string) => asked.push(kind), changeKeys: async () => asked.push('keys') };
    const stop = startTimetable(
      {
        echoEveryMs: 10 * HOUR_MS,
        signOffEveryMs: 15 * HOUR_MS,
        changeKeysEveryMs: 21 * HOUR_MS,
        cutOverAtMinute: 22 * 60,
      },
      acts,
    );
    vi.advanceTimersByTime(25 * HOUR_MS);
    expect(asked).toEqual(['cutOver', 'echo', 'signOff', 'echo', 'keys', 'cutOver']);
    stop();
    vi.advanceTimersByTime(100 * HOUR_MS);
    expect(asked).toHaveLength(6);
  });

  test.each([
    [0, '2026-11-23T00:00:00.000Z', 24 * HOUR_MS],
    [0, '2026-11-23T23:59:59.999Z', 1],
    [22 * 60, '2026-11-23T21:30:00.000Z', HOUR_MS / 2],
    [22 * 60, '2026-11-23T22:00:00.001Z', 24 * HOUR_MS - 1],
  ])('a timetable from %s minutes after midnight at %s it is %s ms', (minute, now, expected) => {
    expect(msUntil(minute, Date.parse(now))).toBe(expected);
  });
});

test('a business day is that of the start until a cut-over, and never behind the present date after one', () => {
  const day = new BusinessDay(Date.UTC(2026, 10, 30, 23, 59));
  expect(day.date).toBe('20261130');
  day.cutOver(Date.UTC(2026, 10, 30, 23, 59));
  expect(day.date).toBe('20261201');
  day.cutOver(Date.UTC(2026, 11, 24));
  expect(day.date).toBe('20261224');
});
