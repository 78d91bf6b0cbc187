import { describe, expect, test } from 'vitest';
import { parseArrivals } from '../../src/tools/load/arrival-plan.ts';
import { type Slice, Tally } from '../../src/tools/load/tally.ts';
import { parseThresholds, StepWatch } from '../../src/tools/load/thresholds.ts';

const PLAN = parseArrivals('steps:by=100,every=2s', 100, 10);

/** A second with this number of due calls and of responses, each with this latency. */
function second(due: number, responded: number, ms = 5, isError = false, inFlight = 0): Slice {
  const tally = new Tally();
  for (let at = 0; at < due; at++) tally.count('due');
  for (let at = 0; at < due; at++) tally.count('sent');
  for (let at = 0; at < responded; at++)
    tally.countResponse('approve', { outcome: isError ? 'HTTP 503' : 'Approved', isExpected: !isError, isError }, ms);
  return tally.take({ inFlight });
}

function watch(slices: readonly Slice[], thresholds = '') {
  const steps = new StepWatch(PLAN, thresholds === '' ? [] : parseThresholds(thresholds));
  const broke = slices.map((slice, at) => steps.add(at, slice)).findIndex((why) => why !== undefined);
  return { broke, results: steps.results };
}

describe('steps until it breaks', () => {
  test('hold as long as responses keep up, and break with the step in which they do not', () => {
    const { broke, results } = watch([
      second(100, 99),
      second(100, 101),
      second(200, 200),
      second(200, 150, 5, false, 150),
    ]);
    expect(broke).toBe(3);
    expect(results).toEqual([
      { perSecond: 100, responsesPerSecond: 100, p99Ms: expect.closeTo(5, 1), broke: null },
      {
        perSecond: 200,
        responsesPerSecond: 175,
        p99Ms: expect.closeTo(5, 1),
        broke: 'it responded to 175 of 200 a second',
      },
    ]);
  });

  test('hold while slow responses are in flight', () => {
    expect(watch([second(100, 80, 5, false, 20), second(100, 100, 5, false, 20)]).results[0]?.broke).toBeNull();
  });

  test('hold if the report of their last second is late and contains calls of the next step', () => {
    expect(watch([second(100, 100), second(160, 100, 5, false, 60)]).results[0]?.broke).toBeNull();
  });

  test('break for waits longer than a person accepts, and for errors', () => {
    expect(watch([second(100, 100), second(100, 100, 2_000)]).results[0]?.broke).toMatch(
      /^p99 is 2\d{3} ms$|^p99 is 1\d{3} ms$/,
    );
    expect(watch([second(100, 100), second(100, 100, 5, true)]).results[0]?.broke).toBe('100 of 200 calls failed');
  });

  test('break for the given conditions instead, if there are any', () => {
    const slow = [second(100, 100, 2_000), second(100, 100, 2_000)];
    expect(watch(slow, 'p99>5s').broke).toBe(-1);
    expect(watch(slow, 'p50>1s').results[0]?.broke).toMatch(/^p50>1s: it is /);
  });
});
