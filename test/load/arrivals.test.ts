import { describe, expect, test } from 'vitest';
import { LoadError } from '../../src/basics/errors.ts';
import { dueTimes, parseArrivals } from '../../src/tools/load/arrival-plan.ts';
import { seededRandom } from '../../src/tools/simulator/faults.ts';

const timesOf = (text: string, perSecond: number, seconds: number, seed = 1) => {
  const { segments, spacing } = parseArrivals(text, perSecond, seconds);
  return [...dueTimes(segments, spacing, seededRandom(seed))];
};
const between = (times: readonly number[], from: number, to: number) =>
  times.filter((ms) => ms >= from * 1_000 && ms < to * 1_000).length;

describe('arrivals', () => {
  test('come at equal intervals if they are constant, in exactly the requested number', () => {
    const times = timesOf('constant', 250, 4);
    expect(times).toHaveLength(1_000);
    expect(times.slice(0, 3)).toEqual([0, 4, 8]);
    expect(times.at(-1)).toBeCloseTo(3_996);
  });

  test('are independent if they are Poisson: the deviation of gaps equals their mean, and the variance of counts equals theirs', () => {
    const times = timesOf('poisson', 100, 1_000);
    expect(Math.abs(times.length - 100_000)).toBeLessThan(4 * Math.sqrt(100_000));
    const gaps = times.slice(1).map((ms, at) => ms - times[at]!);
    const mean = gaps.reduce((sum, gap) => sum + gap, 0) / gaps.length;
    const deviation = Math.sqrt(gaps.reduce((sum, gap) => sum + (gap - mean) ** 2, 0) / gaps.length);
    expect(mean).toBeCloseTo(10, 0);
    expect(deviation / mean).toBeCloseTo(1, 1);
    const counts = new Array<number>(1_000).fill(0);
    for (const ms of times) counts[Math.floor(ms / 1_000)]!++;
    const variance = counts.reduce((sum, count) => sum + (count - 100) ** 2, 0) / counts.length;
    expect(variance / 100).toBeGreaterThan(0.8);
    expect(variance / 100).toBeLessThan(1.2);
  });

  test('are the same for the same seed, and different for another', () => {
    expect(timesOf('poisson', 50, 10, 3)).toEqual(timesOf('poisson', 50, 10, 3));
    expect(timesOf('poisson', 50, 10, 3)).not.toEqual(timesOf('poisson', 50, 10, 4));
  });

  test('grow linearly on a ramp', () => {
    const times = timesOf('ramp:from=100', 300, 10);
    expect(times).toHaveLength(2_000);
    expect(between(times, 0, 1)).toBe(110);
    expect(between(times, 9, 10)).toBe(290);
    expect(timesOf('ramp', 100, 10)).toHaveLength(500);
  });

  test('are multiplied during a spike', () => {
    const times = timesOf('spike:times=5,at=2s,for=1s', 100, 5);
    expect([0, 1, 2, 3, 4].map((second) => between(times, second, second + 1))).toEqual([100, 100, 500, 100, 100]);
  });

  test('rise step by step', () => {
    const times = timesOf('steps:by=50,every=2s', 100, 7);
    expect([0, 1, 2, 3, 4, 5, 6].map((second) => between(times, second, second + 1))).toEqual([
      100, 100, 150, 150, 200, 200, 0,
    ]);
    expect(parseArrivals('steps,poisson', 100, 60)).toMatchObject({ isUntilItBreaks: true, spacing: 'poisson' });
  });

  test('ascend, in every pattern', () => {
    for (const text of ['poisson', 'ramp,poisson', 'spike', 'steps:every=1s', 'ramp:from=400']) {
      const times = timesOf(text, 200, 10);
      expect(times.every((ms, at) => at === 0 || ms >= times[at - 1]!)).toBe(true);
    }
  });

  test.each([
    ['sometimes', 'sometimes: expected one of constant, poisson, ramp, spike, steps'],
    ['constant:by=5', 'by=5: constant takes nothing behind it'],
    ['ramp:to=5', 'to=5: ramp takes from=...'],
    ['ramp:from=', 'from=: ramp takes from=...'],
    ['spike:times=0', 'spike:times: expected a number above 0'],
    ['spike:at=9s,for=9s', 'spike: it ends after 18 s, and the test after 10 s'],
    ['spike:at=soon', 'spike:at soon: expected a time'],
    ['spike:times=1000000', 'spike:times 100000000: expected arrivals a second'],
    ['steps:every=8s', 'steps: 10 s hold no two steps of 8 s'],
  ])('are refused as %s', (text, why) => {
    expect(() => parseArrivals(text, 100, 10)).toThrow(LoadError);
    expect(() => parseArrivals(text, 100, 10)).toThrow(why);
  });
});
