import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { Lanes, type Turn } from '../../src/webhooks/lanes.ts';

const WIDTH = 8;
let lanes: Lanes;
beforeEach(async () => {
  vi.useFakeTimers();
  lanes = new Lanes(() => performance.now());
  for (const endpoint of ['a', 'b', 'slow']) await prove(endpoint);
});
afterEach(() => {
  vi.useRealTimers();
});

type Going = Extract<Turn, { kind: 'go' }>;

/** Takes the requested number of free turns. */
async function fill(endpoint: string, count = WIDTH): Promise<Going[]> {
  const turns = await Promise.all(Array.from({ length: count }, () => lanes.enter(endpoint)));
  expect(turns.map(({ kind }) => kind)).toEqual(turns.map(() => 'go'));
  return turns as Going[];
}

/** Widens the lane to its maximum. */
async function prove(endpoint: string): Promise<void> {
  for (let n = 0; n < 3; n++) (await fill(endpoint, 1))[0]!.leave('taken');
}

/** A turn, and whether it was given. */
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

/** Records responses of this duration for an endpoint. */
async function learn(endpoint: string, ms: number, times = 20): Promise<void> {
  for (let n = 0; n < times; n++) {
    const [turn] = await fill(endpoint, 1);
    await vi.advanceTimersByTimeAsync(ms);
    turn!.leave('taken');
  }
}

describe('a lane', () => {
  test('lets eight run at once, and the next one when one of them ends', async () => {
    const [first] = await fill('a');
    const ninth = watch(lanes.enter('a'));
    await vi.advanceTimersByTimeAsync(10);
    expect(ninth.state()).toBe('waiting');
    first!.leave('taken');
    await vi.advanceTimersByTimeAsync(0);
    expect(ninth.state()).toBe('go');
  });

  test('serves waiting deliveries in order of arrival', async () => {
    const running = await fill('a');
    const waiting = [1, 2, 3].map(() => watch(lanes.enter('a')));
    running[0]!.leave('taken');
    running[1]!.leave('taken');
    await vi.advanceTimersByTimeAsync(0);
    expect(waiting.map(({ state }) => state())).toEqual(['go', 'go', 'waiting']);
  });

  test('does not affect any other lane', async () => {
    await fill('a');
    await fill('b');
  });

  test('postpones a delivery that has waited for a second, so that its worker can do other work', async () => {
    await fill('a');
    const waiting = watch(lanes.enter('a'));
    await vi.advanceTimersByTimeAsync(999);
    expect(waiting.state()).toBe('waiting');
    await vi.advanceTimersByTimeAsync(1);
    expect(waiting.state()).toBe('putOff');
  });

  test('postpones immediately if the running ones hang', async () => {
    await fill('a');
    await vi.advanceTimersByTimeAsync(1_001);
    expect(await secondsOff('a')).toBe(1);
  });

  test('postpones immediately if too many wait already', async () => {
    await learn('a', 100);
    await fill('a');
    const waiting = Array.from({ length: 80 }, () => watch(lanes.enter('a')));
    await vi.advanceTimersByTimeAsync(0);
    expect(new Set(waiting.map(({ state }) => state()))).toEqual(new Set(['waiting']));
    expect(await secondsOff('a')).toBeGreaterThanOrEqual(1);
  });
});

test('a new lane lets two run, and twice as many after each success', async () => {
  const [first] = await fill('new', 2);
  const third = watch(lanes.enter('new'));
  await vi.advanceTimersByTimeAsync(10);
  expect(third.state()).toBe('waiting');
  first!.leave('taken');
  await vi.advanceTimersByTimeAsync(0);
  expect(third.state()).toBe('go');
  await fill('new', 2);
});

describe('an event that was just committed', () => {
  const enter = (endpoint: string) => lanes.enterPrompt(endpoint);
  const leaveAll = (turns: readonly ReturnType<typeof enter>[]) => {
    for (const turn of turns) (turn as Going).leave('taken');
  };

  test('has turns besides those of jobs: two at first, twice as many after each success, up to 56', () => {
    for (const width of [2, 8, 56]) {
      const turns = Array.from({ length: width }, () => enter('new'));
      expect(turns.filter((turn) => typeof turn === 'string')).toEqual([]);
      expect(enter('new')).toBe('full');
      leaveAll(width === 2 ? turns : turns.slice(0, 3));
      for (const turn of turns.slice(3)) (turn as Going).leave('notMade');
    }
  });

  test('leaves the turns of jobs to them', async () => {
    for (let n = 0; n < 16; n++) enter('a');
    expect(enter('a')).toBe('full');
    await fill('a');
  });

  test('has none while the receiver hangs, whichever delivery found that', async () => {
    const [ofJob] = await fill('a', 1);
    enter('b');
    await vi.advanceTimersByTimeAsync(1_001);
    expect([enter('a'), enter('b')]).toEqual(['closed', 'closed']);
    ofJob!.leave('taken');
    expect(enter('a')).toMatchObject({ kind: 'go', isProbe: false });
  });

  test('has none while the receiver fails, or has requested a delay', async () => {
    for (let n = 0; n < 3; n++) (enter('a') as Going).leave('failed');
    expect(enter('a')).toBe('closed');
    lanes.pause('b', 60);
    expect(enter('b')).toBe('closed');
    await vi.advanceTimersByTimeAsync(60_000);
    expect(enter('b')).toMatchObject({ kind: 'go' });
  });
});

describe('a slow receiver', () => {
  test('has one delivery at a time, and the others get turns one response apart', async () => {
    await learn('slow', 10_000);
    await fill('slow', 1);
    const [first, second, third] = [await secondsOff('slow'), await secondsOff('slow'), await secondsOff('slow')];
    expect(first).toBeCloseTo(10, 0);
    expect(second - first).toBeCloseTo(10, 0);
    expect(third - second).toBeCloseTo(10, 0);
  });

  test('is never postponed by more than ten minutes, however much waits for it', async () => {
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

describe('a receiver that requests a delay', () => {
  test('gets it: everything is postponed until then', async () => {
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

describe('a receiver that fails', () => {
  async function fail(endpoint: string, times = 3): Promise<void> {
    for (let n = 0; n < times; n++) (await fill(endpoint, 1))[0]!.leave('failed');
  }

  test('is probed with one delivery at a time after three failures in a row', async () => {
    await fail('a');
    const [probe] = await fill('a', 1);
    expect(probe!.isProbe).toBe(true);
    const second = watch(lanes.enter('a'));
    await vi.advanceTimersByTimeAsync(0);
    expect(second.state()).toBe('waiting');
    probe!.leave('failed');
    await vi.advanceTimersByTimeAsync(0);
    expect(second.state()).toBe('go');
  });

  test('is probed immediately if it hung', async () => {
    const [turn] = await fill('a', 1);
    await vi.advanceTimersByTimeAsync(15_000);
    turn!.leave('failed');
    expect((await fill('a', 1))[0]!.isProbe).toBe(true);
  });

  test('keeps its lane after failures with successes between them', async () => {
    for (let n = 0; n < 10; n++) {
      await fail('a', 2);
      await learn('a', 5, 1);
    }
    await fill('a');
  });

  test('gets a lane twice as wide with each success after that', async () => {
    await fail('a');
    for (const width of [1, 2, 4, 8]) {
      const running = await fill('a', width);
      const next = watch(lanes.enter('a'));
      await vi.advanceTimersByTimeAsync(0);
      expect(next.state()).toBe('waiting');
      running[0]!.leave('taken');
      for (const turn of [...running.slice(1), (await next.turn) as Going]) turn.leave('notMade');
    }
  });

  test('is measured again when it is back, regardless of how long it hung before', async () => {
    for (let n = 0; n < 3; n++) {
      const [turn] = await fill('a', 1);
      await vi.advanceTimersByTimeAsync(15_000);
      turn!.leave('failed');
    }
    const [probe] = await fill('a', 1);
    await vi.advanceTimersByTimeAsync(1_001);
    for (let n = 0; n < 100; n++) await lanes.enter('a');
    probe!.leave('taken');
    await learn('a', 20, 2);
    await fill('a');
    await vi.advanceTimersByTimeAsync(1_001);
    expect(await secondsOff('a')).toBeLessThan(2);
  });

  test('has deliveries to be brought forward when it is back, and no room for them before', async () => {
    lanes.setNoneWaiting('a');
    await fail('a');
    expect([lanes.mayHaveWaiting('a'), lanes.room('a', 1_000)]).toEqual([false, 0]);
    await learn('a', 10, 1);
    expect(lanes.mayHaveWaiting('a')).toBe(true);
    expect(lanes.room('a', 1_000)).toBe(200); // two at once, each within 10 ms
    lanes.pause('a', 60);
    expect(lanes.room('a', 1_000)).toBe(0);
  });
});

test('an endpoint that is new to this process may have deliveries of another one to be brought forward', async () => {
  expect(lanes.mayHaveWaiting('new')).toBe(true);
  lanes.setNoneWaiting('new');
  await learn('new', 10, 5);
  expect(lanes.mayHaveWaiting('new')).toBe(false);
});

test('what was postponed for a slow receiver is brought forward when it is fast', async () => {
  await learn('slow', 10_000);
  lanes.setNoneWaiting('slow');
  const [turn] = await fill('slow', 1);
  for (let n = 0; n < 10; n++) await secondsOff('slow');
  await vi.advanceTimersByTimeAsync(20);
  turn!.leave('taken');
  expect(lanes.mayHaveWaiting('slow')).toBe(true);
});
