import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { Alarm, Deadlines } from '../../src/switching/connection/deadlines.ts';
import { ManualClock } from './manual-clock.ts';

const TICK_MS = 10;

function open() {
  const clock = new ManualClock();
  return { clock, deadlines: new Deadlines(clock) };
}

describe('deadlines', () => {
  test('are never early and at most a tick late, in any order', () => {
    const delays = fc.array(fc.integer({ min: 0, max: 5_000 }), { minLength: 1, maxLength: 50 });
    fc.assert(
      fc.property(delays, (delaysMs) => {
        const { clock, deadlines } = open();
        const startedAtMs = clock.monotonicMs();
        const lateness: number[] = [];
        for (const delayMs of delaysMs) {
          const alarm = new Alarm((monotonicMs) => lateness.push(monotonicMs - (startedAtMs + delayMs)));
          deadlines.schedule(alarm, startedAtMs + delayMs);
        }
        clock.advance(6_000);
        expect(lateness).toHaveLength(delaysMs.length);
        expect(Math.min(...lateness)).toBeGreaterThanOrEqual(0);
        expect(Math.max(...lateness)).toBeLessThanOrEqual(TICK_MS);
        expect(clock.timers).toBe(0);
      }),
    );
  });

  test('deadlines of one tick fire in the order in which they were scheduled', () => {
    const { clock, deadlines } = open();
    const seen: string[] = [];
    for (const name of ['a', 'b', 'c']) deadlines.schedule(new Alarm(() => seen.push(name)), clock.monotonicMs() + 55);
    clock.advance(60);
    expect(seen).toEqual(['a', 'b', 'c']);
  });

  test('deadlines that are cancelled do not fire, and leave no timer that keeps waking the process', () => {
    const { clock, deadlines } = open();
    const alarm = new Alarm(() => expect.fail('a cancelled deadline happened'));
    deadlines.schedule(alarm, clock.monotonicMs() + 100);
    deadlines.cancel(alarm);
    deadlines.cancel(alarm);
    expect(clock.timers).toBe(0);
    clock.advance(1_000);
  });

  test('deadlines that are scheduled again are moved', () => {
    const { clock, deadlines } = open();
    const rings: number[] = [];
    const startedAtMs = clock.monotonicMs();
    const alarm = new Alarm((monotonicMs) => rings.push(monotonicMs - startedAtMs));
    deadlines.schedule(alarm, startedAtMs + 500);
    deadlines.schedule(alarm, startedAtMs + 100);
    deadlines.schedule(alarm, startedAtMs + 300);
    clock.advance(1_000);
    expect(rings).toEqual([300]);
  });

  test('deadlines in the past fire at the next tick, not within the call', () => {
    const { clock, deadlines } = open();
    let rings = 0;
    deadlines.schedule(new Alarm(() => rings++), clock.monotonicMs() - 5_000);
    expect(rings).toBe(0);
    clock.advance(TICK_MS);
    expect(rings).toBe(1);
  });

  test('may cancel and schedule others when they fire', () => {
    const { clock, deadlines } = open();
    const seen: string[] = [];
    const atMs = clock.monotonicMs() + 50;
    const victim = new Alarm(() => seen.push('victim'));
    const again = new Alarm(() => seen.push('again'));
    const first = new Alarm(() => {
      seen.push('first');
      deadlines.cancel(victim);
      deadlines.schedule(again, atMs);
    });
    deadlines.schedule(first, atMs);
    deadlines.schedule(victim, atMs);
    clock.advance(100);
    expect(seen).toEqual(['first', 'again']);
  });

  test('may all be cancelled from within one, and new ones scheduled', () => {
    const { clock, deadlines } = open();
    const seen: string[] = [];
    const victim = new Alarm(() => seen.push('victim'));
    const fresh = new Alarm(() => seen.push('fresh'));
    const first = new Alarm((monotonicMs) => {
      deadlines.cancel(victim);
      deadlines.schedule(fresh, monotonicMs + 30);
    });
    deadlines.schedule(first, clock.monotonicMs() + 50);
    deadlines.schedule(victim, clock.monotonicMs() + 50);
    clock.advance(100);
    expect(seen).toEqual(['fresh']);
    expect(clock.timers).toBe(0);
  });

  test('deadlines of the same tick still fire if one of them throws', () => {
    const { clock, deadlines } = open();
    let rings = 0;
    deadlines.schedule(
      new Alarm(() => {
        throw new Error('a fault');
      }),
      clock.monotonicMs() + 50,
    );
    deadlines.schedule(new Alarm(() => rings++), clock.monotonicMs() + 50);
    expect(() => clock.advance(60)).toThrow('a fault');
    clock.advance(60);
    expect(rings).toBe(1);
  });

  test('further in the future than a timer can count do not fire early', () => {
    const { clock, deadlines } = open();
    const yearMs = 365 * 24 * 3_600_000;
    let rings = 0;
    deadlines.schedule(new Alarm(() => rings++), clock.monotonicMs() + yearMs);
    clock.advance(yearMs - TICK_MS);
    expect(rings).toBe(0);
    clock.advance(2 * TICK_MS);
    expect(rings).toBe(1);
  });

  test('refuse an instant that is not a number', () => {
    const { deadlines } = open();
    expect(() => deadlines.schedule(new Alarm(() => {}), Number.NaN)).toThrow('dueAtMs must be a number');
  });
});
