import { describe, expect, test } from 'vitest';
import { TapLoad } from '../../src/basics/limits/concurrency-limit.ts';
import { TapShares } from '../../src/http/admit-taps.ts';
import { seededRandom } from '../../src/tools/simulator/faults.ts';

const tokenOf = (acquirerId: number, phone: number) => `Bearer ${String(phone).padStart(16, '0')} of ${acquirerId}`;

const OFFERED_PER_MS = 10;
const ENDED_PER_MS = 2;

/** Offers five times as many taps as a process can accept, in proportion to the weights, and counts the accepted. */
function acceptedOf(weights: readonly number[], taps: number): number[] {
  let nowMs = 0;
  const load = new TapLoad();
  const shares = new TapShares(() => nowMs);
  const counts = weights.map(() => 0);
  const sum = weights.reduce((all, each) => all + each, 0);
  const random = seededRandom(1);
  const submit = (acquirerId: number) => {
    const token = tokenOf(acquirerId, Math.floor(random.next() * 50));
    if (load.isOverfull || (load.isFull && !shares.mayPass(token))) return;
    shares.learn(acquirerId, token);
    if (load.isFull && shares.hasItsShare(acquirerId)) return;
    shares.accept(acquirerId);
    load.begin();
    counts[acquirerId]!++;
  };
  for (let tap = 0; tap < taps; tap++) {
    nowMs = tap / OFFERED_PER_MS;
    if (load.count > 0 && tap % (OFFERED_PER_MS / ENDED_PER_MS) === 0) load.end();
    let left = random.next() * sum;
    submit(
      weights.findIndex((weight) => {
        left -= weight;
        return left < 0;
      }),
    );
  }
  return counts;
}

describe('while more taps arrive than a process can accept', () => {
  test('an acquirer with a fiftieth of the taps has few refused', () => {
    const [flood, other] = acceptedOf([49, 1], 100_000);
    expect(other).toBeGreaterThan(1_900); // 2,000 were offered
    expect(flood! + other!).toBeGreaterThan(20_000);
  });

  test('acquirers that offer more than their share get nearly an equal share, with one acquirer more counted', () => {
    const counts = acceptedOf([80, 12, 12], 100_000);
    const total = counts.reduce((all, each) => all + each, 0);
    expect(total).toBeGreaterThan(20_000);
    expect(Math.min(...counts)).toBeGreaterThan((total / 4) * 0.95);
  });
});

test('the acquirer of a token is unknown until the token was verified, and few unknown tokens pass', () => {
  let nowMs = 0;
  const shares = new TapShares(() => nowMs);
  shares.accept(1);
  const passed = () =>
    Array.from({ length: 500 }, (_, phone) => shares.mayPass(tokenOf(1, phone))).filter(Boolean).length;
  expect(passed()).toBe(100);
  nowMs = 500;
  expect(passed()).toBe(50);
  shares.learn(2, tokenOf(2, 7));
  expect(shares.mayPass(tokenOf(2, 7))).toBe(true);
  expect(shares.mayPass(undefined)).toBe(false);
});

test('what was accepted counts half after a second, and not at all in the end', () => {
  let nowMs = 0;
  const shares = new TapShares(() => nowMs);
  for (let taps = 0; taps < 6; taps++) shares.accept(1);
  const haveTheirs = () => [1, 2, 3].map((acquirerId) => shares.hasItsShare(acquirerId));
  expect(haveTheirs()).toEqual([true, false, false]);
  nowMs = 1_000;
  for (let taps = 0; taps < 4; taps++) shares.accept(2); // beside 3
  expect(haveTheirs()).toEqual([true, true, false]);
  shares.accept(3);
  shares.accept(3);
  expect(haveTheirs()).toEqual([true, true, false]);
  for (nowMs = 2_000; nowMs < 6_000; nowMs += 1_000) haveTheirs();
  expect(haveTheirs()).toEqual([false, false, false]);
});

test('the oldest of 65,536 tokens is forgotten first', () => {
  const shares = new TapShares(() => 0);
  shares.accept(1);
  for (let phone = 0; phone <= 65_536; phone++) shares.learn(2, tokenOf(2, phone));
  for (let tries = 0; tries < 100; tries++) shares.mayPass(tokenOf(1, tries)); // all unknown tokens that may pass
  expect(shares.mayPass(tokenOf(2, 65_536))).toBe(true);
  expect(shares.mayPass(tokenOf(2, 0))).toBe(false);
});
