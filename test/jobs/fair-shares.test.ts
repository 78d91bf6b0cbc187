import { expect, test } from 'vitest';
import { FairShares } from '../../src/jobs/job-table.ts';

/** Takes jobs of these acquirers, in this order, as long as there is room for them; they never end. */
function fill(shares: FairShares, acquirers: readonly number[]): Map<number, number> {
  const held = new Map<number, number>();
  for (let isFull = false; !isFull; ) {
    const waiting = acquirers.filter((acquirerId) => !shares.isAtShare(acquirerId));
    const taken = waiting.slice(0, shares.room === 0 ? 0 : 1).flatMap((first) => Array(shares.room).fill(first));
    for (const acquirerId of taken) {
      shares.hold(acquirerId);
      held.set(acquirerId, (held.get(acquirerId) ?? 0) + 1);
    }
    isFull = taken.length === 0;
  }
  return held;
}

test.each([
  [1, 1_024, 512],
  [2, 1_024, 256],
  [3, 128, 16],
  [1, 1, 1],
  [1, 3, 2],
])('%i acquirers whose jobs never end, with %i credits, leave at least the last of them %i', (count, credits, least) => {
  const shares = new FairShares(credits);
  const held = fill(
    shares,
    Array.from({ length: count }, (_, index) => index + 1),
  );
  expect(Math.min(...held.values())).toBeGreaterThanOrEqual(Math.min(least, credits));
  const total = [...held.values()].reduce((sum, each) => sum + each, 0);
  expect(total).toBeLessThanOrEqual(credits);
  if (credits > 4) expect(shares.isAtShare(99)).toBe(false);
});

test('no poll gives an acquirer more than is free besides, in any order of jobs', () => {
  let seed = 1;
  const random = (below: number) => {
    seed = (seed * 48_271) % 2_147_483_647;
    return seed % below;
  };
  for (let round = 0; round < 200; round++) {
    const credits = 2 + random(200);
    const shares = new FairShares(credits);
    const running: number[] = [];
    for (let step = 0; step < 100; step++) {
      const ended = running.splice(0, random(running.length + 1));
      for (const acquirerId of ended) shares.release(acquirerId);
      const left = new Set(shares.groupsAtShare);
      const room = shares.room;
      expect(room).toBeLessThanOrEqual(credits - running.length);
      const open = [1, 2, 3].filter((acquirerId) => !left.has(`${acquirerId}`));
      const batch = Array.from(
        { length: open.length > 0 ? room : 0 },
        () => open[random(random(2) + 1) % open.length]!,
      );
      for (const acquirerId of batch) shares.hold(acquirerId);
      running.push(...batch);
      expect(running.length).toBeLessThanOrEqual(credits);
      for (const acquirerId of new Set(batch)) {
        const held = running.filter((each) => each === acquirerId).length;
        expect(held).toBeLessThanOrEqual(credits - running.length + 1);
      }
    }
  }
});

test('the groups of an acquirer at its share are those of its jobs, and are forgotten with the last one', () => {
  const shares = new FairShares(4);
  shares.hold(1, '1 7');
  shares.hold(1);
  expect(shares.groupsAtShare.sort()).toEqual(['1', '1 7']);
  expect(shares.release(1)).toBe(true);
  expect(shares.groupsAtShare).toEqual([]);
  expect(shares.release(1)).toBe(false);
  expect(shares.room).toBe(2);
});
