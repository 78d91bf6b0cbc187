import { describe, expect, test } from 'vitest';
import { Backoff } from '../../src/basics/limits/waits.ts';

const limits = { firstMs: 100, mostMs: 1_000 };
const delays = (backoff: Backoff, count: number) => Array.from({ length: count }, () => backoff.nextDelayMs());

describe('a backoff', () => {
  test('doubles its bound with each attempt, up to the maximum', () => {
    expect(delays(new Backoff(limits, () => 1), 6)).toEqual([100, 200, 400, 800, 1_000, 1_000]);
  });

  test('waits between zero and its bound', () => {
    expect(delays(new Backoff(limits, () => 0), 3)).toEqual([0, 0, 0]);
    expect(delays(new Backoff(limits, () => 0.5), 3)).toEqual([50, 100, 200]);
  });

  test('remains at the maximum for all further attempts', () => {
    expect(delays(new Backoff(limits, () => 1), 5_000).at(-1)).toBe(1_000);
  });

  test('starts again after a reset', () => {
    const backoff = new Backoff(limits, () => 1);
    delays(backoff, 4);
    backoff.reset();
    expect(backoff.nextDelayMs()).toBe(100);
  });
});
