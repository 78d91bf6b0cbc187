import { describe, expect, test } from 'vitest';
import { compareResults, planDifferences } from '../../src/tools/load/load-result.ts';
import { resultWith } from './results.ts';

const verdicts = (before: object, after: object, tolerance = 0.1) =>
  Object.fromEntries(
    compareResults(resultWith(before), resultWith(after), tolerance)
      .filter(({ verdict }) => verdict !== 'same')
      .map(({ name, verdict }) => [name, verdict]),
  );

describe('two results side by side', () => {
  test('are the same within the tolerance, and within the noise of timers', () => {
    expect(verdicts({}, {})).toEqual({});
    expect(verdicts({}, { perSecond: 91, p99Ms: 21.9 })).toEqual({});
    expect(verdicts({ p50Ms: 0.4 }, { p50Ms: 1.3 })).toEqual({});
  });

  test('show what is worse, and what is better', () => {
    expect(verdicts({}, { perSecond: 80, p99Ms: 40, p50Ms: 3 })).toEqual({
      'per second': 'worse',
      p99: 'worse',
      p50: 'better',
    });
    expect(verdicts({}, { p99Ms: 40 }, 1)).toEqual({});
    expect(verdicts({ lost: 5 }, { errors: 5 })).toEqual({ errors: 'worse', lost: 'better' });
  });

  test('count missing figures as worse than any figure', () => {
    const silent = { sent: 0, responded: 0, perSecond: 0, p50Ms: null };
    expect(verdicts({}, silent)).toMatchObject({ p50: 'worse', 'per second': 'worse' });
    expect(verdicts(silent, {})).toMatchObject({ p50: 'better' });
  });

  test('report the share by which a figure changed, if the first value is not zero', () => {
    const figures = compareResults(resultWith(), resultWith({ perSecond: 75, errors: 10 }), 0.1);
    expect(figures.find(({ name }) => name === 'per second')?.change).toBe(-0.25);
    expect(figures.find(({ name }) => name === 'errors')).toMatchObject({ after: 1, change: undefined });
  });

  test('name the differences of their plans', () => {
    const { plan } = resultWith();
    const other = resultWith({ plan: { ...plan, perSecond: 200, seed: 9 } });
    expect(planDifferences(resultWith(), other)).toEqual(['perSecond: 100 and 200']);
  });
});
