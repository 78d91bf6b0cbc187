import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { Histogram } from '../../src/tools/load/tally.ts';
import { seededRandom } from '../../src/tools/simulator/faults.ts';

const LARGEST_ERROR = 1 / 250;
/** Microseconds are integers. */
const ROUNDING_MS = 0.0006;

describe('a histogram of latencies', () => {
  test('reports every percentile to within 0.4 % of a measured latency', () => {
    fc.assert(
      fc.property(
        fc.array(fc.double({ min: 0, max: 1_000_000, noNaN: true }), { minLength: 1, maxLength: 300 }),
        fc.double({ min: 0.001, max: 1, noNaN: true }),
        (latencies, share) => {
          const histogram = new Histogram();
          for (const ms of latencies) histogram.record(ms);
          const sorted = latencies.toSorted((a, b) => a - b);
          const exact = sorted[Math.ceil(share * sorted.length) - 1]!;
          const reported = histogram.percentileMs(share)!;
          expect(Math.abs(reported - exact)).toBeLessThanOrEqual(exact * LARGEST_ERROR + ROUNDING_MS);
        },
      ),
    );
  });

  test('merged with others equals one that counted everything', () => {
    const random = seededRandom(7);
    const [whole, left, right] = [new Histogram(), new Histogram(), new Histogram()];
    for (let at = 0; at < 2_000; at++) {
      const ms = Math.exp(8 * random.next());
      whole.record(ms);
      (at % 3 === 0 ? left : right).record(ms);
    }
    left.add(right.take());
    expect(right.count).toBe(0);
    expect(left.counts()).toEqual(whole.counts());
    expect(left.maxMs).toBe(whole.maxMs);
  });

  test('has no percentiles when empty, and counts too long or negative latencies at its ends', () => {
    const histogram = new Histogram();
    expect(histogram.percentileMs(0.5)).toBeUndefined();
    histogram.record(-5);
    expect(histogram.percentileMs(1)).toBe(0);
    histogram.record(1e12);
    expect(histogram.percentileMs(1)).toBeGreaterThan(2_000_000);
  });
});
