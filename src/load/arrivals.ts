/**
 * When requests are due. The schedule is fixed before the first of them is sent: it knows nothing of answers, so a slow
 * gateway cannot slow its own test (open loop).
 */
import type { Random } from '../simulator/random.ts';

/** A stretch of time in which the rate goes in a straight line from one value to another. */
export interface RateSegment {
  readonly seconds: number;
  /** Arrivals per second at its begin. */
  readonly from: number;
  /** And at its end. */
  readonly to: number;
}

/** `even`: as regular as a clock. `poisson`: each arrival independent of the others, as people are. */
export type Spacing = 'even' | 'poisson';

/**
 * The moments at which arrivals are due, in milliseconds from the start, ascending. The same random numbers give the same
 * moments.
 */
export function* dueTimes(segments: readonly RateSegment[], spacing: Spacing, random: Random): Generator<number> {
  // Counted in arrivals, the next one lies one further, or a standard exponential further; the rate says when that is.
  const step = spacing === 'even' ? () => 1 : () => -Math.log(1 - random.next());
  let due = spacing === 'even' ? 0 : step();
  let countBefore = 0;
  let secondsBefore = 0;
  for (const segment of segments) {
    const count = countOf(segment);
    for (; due < countBefore + count; due += step())
      yield (secondsBefore + secondsUntil(due - countBefore, segment)) * 1_000;
    countBefore += count;
    secondsBefore += segment.seconds;
  }
}

function countOf({ seconds, from, to }: RateSegment): number {
  return (seconds * (from + to)) / 2;
}

/** Solves `from * t + slope * t^2 / 2 = count`, in the form that stays exact when the slope is small. */
function secondsUntil(count: number, { seconds, from, to }: RateSegment): number {
  if (count === 0) return 0;
  const slope = (to - from) / seconds;
  return (2 * count) / (from + Math.sqrt(Math.max(0, from * from + 2 * slope * count)));
}
