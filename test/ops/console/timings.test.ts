import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { between, countOf, percentileMs, sumOf } from '../../../src/console/process-rates.ts';

const BOUNDS = [0.001, 0.01, 0.1, 1];
const timings = (counts: readonly number[]) => ({ bounds: BOUNDS, counts });

describe('percentiles of a histogram', () => {
  test('are within the bucket of the wanted one, in proportion', () => {
    expect(percentileMs(timings([0, 10, 0, 0, 0]), 0.5)).toBeCloseTo(5.5);
    expect(percentileMs(timings([50, 50, 0, 0, 0]), 0.5)).toBeCloseTo(1);
    expect(percentileMs(timings([98, 0, 0, 2, 0]), 0.99)).toBeCloseTo(550);
  });

  test('are undefined without measurements, and the last bound for what is beyond it', () => {
    expect(percentileMs(timings([0, 0, 0, 0, 0]), 0.99)).toBeNull();
    expect(percentileMs({ bounds: [], counts: [] }, 0.5)).toBeNull();
    expect(percentileMs(timings([0, 0, 0, 0, 3]), 0.5)).toBe(1_000);
  });

  test('percentiles of a histogram never fall as the share grows, and never leave the bounds', () => {
    const counts = fc.array(fc.nat(1_000), { minLength: 5, maxLength: 5 }).filter((each) => each.some(Boolean));
    const share = fc.double({ min: 0.01, max: 1, noNaN: true });
    fc.assert(
      fc.property(counts, share, share, (given, one, other) => {
        const [low, high] = [Math.min(one, other), Math.max(one, other)].map((at) => percentileMs(timings(given), at)!);
        return low! >= 0 && low! <= high! && high! <= 1_000;
      }),
      { numRuns: 2_000 },
    );
  });
});

test('what was counted between two readings is their difference; a restarted process has only its new counts', () => {
  expect(between(timings([1, 2, 3, 0, 0]), timings([4, 2, 3, 1, 0])).counts).toEqual([3, 0, 0, 1, 0]);
  expect(between(timings([9, 9, 9, 0, 0]), timings([4, 0, 0, 0, 0])).counts).toEqual([4, 0, 0, 0, 0]);
  expect(between(undefined, timings([1, 0, 0, 0, 0])).counts).toEqual([1, 0, 0, 0, 0]);
});

test('processes are summed, except one with other bounds', () => {
  const all = sumOf([timings([1, 0, 0, 0, 2]), timings([1, 1, 0, 0, 0]), { bounds: [1], counts: [7, 7] }]);
  expect(all.counts).toEqual([2, 1, 0, 0, 2]);
  expect(countOf(all)).toBe(5);
  expect(sumOf([]).counts).toEqual([]);
});
