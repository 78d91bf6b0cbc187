/**
 * When requests are due. The schedule is fixed before the first of them is sent and does not depend on responses, so a
 * slow gateway cannot slow its own test (open loop).
 */
import type { Random } from '../simulator/random.ts';

/** A period in which the rate changes linearly from one value to another. */
export interface RateSegment {
  readonly seconds: number;
  /** Arrivals per second at its start. */
  readonly from: number;
  /** Arrivals per second at its end. */
  readonly to: number;
}

/** `even`: at equal intervals. `poisson`: each arrival is independent of the others, as with people. */
export type Spacing = 'even' | 'poisson';

/**
 * The times at which arrivals are due, in milliseconds from the start, ascending. The same random numbers give the same
 * times.
 */
export function* dueTimes(segments: readonly RateSegment[], spacing: Spacing, random: Random): Generator<number> {
  // Measured in arrivals, the next one is 1 further, or a standard exponential further; the rate converts that to a
  // time.
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

/** Solves `from * t + slope * t^2 / 2 = count`, in the form that stays exact for a small slope. */
function secondsUntil(count: number, { seconds, from, to }: RateSegment): number {
  if (count === 0) return 0;
  const slope = (to - from) / seconds;
  return (2 * count) / (from + Math.sqrt(Math.max(0, from * from + 2 * slope * count)));
}
