import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { Lanes, type Turn } from '../../src/webhooks/lanes.ts';

const WIDTH = 8;
let lanes: Lanes;
beforeEach(() => {
  vi.useFakeTimers();
  lanes = new Lanes(() => performance.now());
});
afterEach(() => {
  vi.useRealTimers();
});

type Going = Extract<Turn, { kind: 'go' }>;

/** Takes as many places as are asked for; all are free. */
async function fill(endpoint: string, count = WIDTH): Promise<Going[]> {
  const turns = await Promise.all(Array.from({ length: count }, () => lanes.enter(endpoint)));
  expect(turns.map(({ kind }) => kind)).toEqual(turns.map(() => 'go'));
  return turns as Going[];
}

/** A turn, and whether it has come. */
function watch(turn: Promise<Turn>): { readonly state: () => Turn['kind'] | 'waiting'; readonly turn: Promise<Turn> } {
  let kind: Turn['kind'] | undefined;
  void turn.then((come) => {
    kind = come.kind;
  });
  return { state: () => kind ?? 'waiting', turn };
}

async function secondsOff(endpoint: string): Promise<number> {
  const turn = await lanes.enter(endpoint);
  if (turn.kind !== 'putOff') throw new Error('it may go');
  return turn.seconds;
}

/** Makes an endpoint known for answers that take so long. */
async function learn(endpoint: string, ms: number, times = 20): Promise<void> {
  for (let n = 0; n < times; n++) {
    const [turn] = await fill(endpoint, 1);
    await vi.advanceTimersByTimeAsync(ms);
    turn!.leave();
  }
}

describe('a lane', () => {
  test('lets eight run at once, and the next one go when one of them leaves', async () => {
    const [first] = await fill('a');
    const ninth = watch(lanes.enter('a'));
    await vi.advanceTimersByTimeAsync(10);
    expect(ninth.state()).toBe('waiting');
    first!.leave();
    await vi.advanceTimersByTimeAsync(0);
    expect(ninth.state()).toBe('go');
  });

  test('serves those who wait in the order in which they came', async () => {
    const running = await fill('a');
    const waiting = [1, 2, 3].map(() => watch(lanes.enter('a')));
    running[0]!.leave();
    running[1]!.leave();
    await vi.advanceTimersByTimeAsync(0);
    expect(waiting.map(({ state }) => state())).toEqual(['go', 'go', 'waiting']);
  });

  test('is nothing to any other lane', async () => {
    await fill('a');
    await fill('b');
  });

  test('puts off who has waited for a second: the hand is for somebody else', async () => {
    await fill('a');
    const waiting = watch(lanes.enter('a'));
    await vi.advanceTimersByTimeAsync(999);
    expect(waiting.state()).toBe('waiting');
    await vi.advanceTimersByTimeAsync(1);
    expect(waiting.state()).toBe('putOff');
  });

  test('puts off at once when those who run hang', async () => {
    await fill('a');
    await vi.advanceTimersByTimeAsync(1_001);
    expect(await secondsOff('a')).toBe(1);
  });

  test('puts off at once when too many wait already', async () => {
    await fill('a');
    const waiting = Array.from({ length: 80 }, () => watch(lanes.enter('a')));
    await vi.advanceTimersByTimeAsync(0);
    expect(new Set(waiting.map(({ state }) => state()))).toEqual(new Set(['waiting']));
    expect(await secondsOff('a')).toBeGreaterThanOrEqual(1);
  });
});

describe('a receiver that is slow', () => {
  test('has one delivery at a time, and the others get turns one answer apart', async () => {
    await learn('slow', 10_000);
    await fill('slow', 1);
    const [first, second, third] = [await secondsOff('slow'), await secondsOff('slow'), await secondsOff('slow')];
    expect(first).toBeCloseTo(10, 0);
    expect(second - first).toBeCloseTo(10, 0);
    expect(third - second).toBeCloseTo(10, 0);
  });

  test('is never put off for more than ten minutes, however much waits for it', async () => {
    await learn('slow', 15_000);
    await fill('slow', 1);
    let longest = 0;
    for (let n = 0; n < 10_000; n++) longest = Math.max(longest, await secondsOff('slow'));
    expect(longest).toBe(600);
  });

  test('has its lane wide again soon after it has recovered', async () => {
    await learn('slow', 15_000);
    await learn('slow', 20, 10);
    await fill('slow');
  });
});

describe('a receiver that asks for patience', () => {
  test('gets it: everything is put off until then', async () => {
    lanes.pause('a', 120);
    expect(await secondsOff('a')).toBeGreaterThanOrEqual(120);
    await vi.advanceTimersByTimeAsync(120_000);
    await fill('a', 1);
  });

  test('gets ten minutes at most', async () => {
    lanes.pause('a', 1_000_000);
    await vi.advanceTimersByTimeAsync(600_000);
    await fill('a', 1);
  });
});
