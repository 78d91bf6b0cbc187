import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { ConsoleFeed, type Viewer } from '../../../src/console/feed.ts';
import type { ConsoleBacklog, Frame } from '../../../src/console/frame.ts';
import type { ProcessFigures } from '../../../src/observe/figures.ts';
import type { Database } from '../../../src/store/postgres/open-database.ts';

const BOUNDS = [0.001, 0.01, 0.1, 1];
const NOTHING: ConsoleBacklog = { queues: [], owed: [], webhooks: [], deadLetters: [], database: null };

/** A worker with a switch of each of two acquirers, after that many seconds of the same traffic. */
function figuresAfter(seconds: number): ProcessFigures {
  const counts = (each: number) => [0, each * seconds, 0, 0, 0];
  const line = (name: string, slow: number) => ({
    ...{ name, type: 'type-1', availability: 'ready', inFlight: 0, pending: 0, timedOut: 0, late: 0, unmatched: 0 },
    ...{ reconnects: 0, badMacs: 0, lastEchoAtMs: null, lines: [], responded: 10 * seconds },
    roundTrips: { bounds: BOUNDS, counts: [0, 8 * seconds, 0, slow * seconds, 0] },
  });
  const outcome = (processor: string, disposition: string, each: number) => ({
    ...{ processor, disposition, scheme: 'Visa' },
    count: each * seconds,
  });
  return {
    ...{
      role: 'worker',
      cell: null,
      host: 'h',
      pid: 1,
      startedAtMs: 0,
      atMs: seconds * 1_000,
      isDraining: false,
      busy: 0,
      rssBytes: 0,
    },
    taps: { bounds: BOUNDS, counts: counts(40), failed: seconds },
    commits: { bounds: BOUNDS, counts: counts(4) },
    commitWrites: 0,
    clients: { idle: 0, used: 0, waiting: 0 },
    declines: [],
    outcomes: [
      outcome('1 1', 'Approved', 17),
      outcome('1 2', 'Indeterminate', 3),
      outcome('1 2', 'Voided', 3),
      outcome('2 1', 'Approved', 20),
      outcome('', 'UnableToGoOnline', 2),
    ],
    switches: [line('1 1', 2), line('1 2', 2), line('2 1', 0)],
    messages: { kept: 0, dropped: 0 },
  };
}

let feed: ConsoleFeed;
beforeEach(() => {
  vi.useFakeTimers();
  let seconds = 0;
  const query = async () => ({ rows: [{ id: 'worker', figures: figuresAfter(++seconds) }] });
  feed = new ConsoleFeed({ database: { query } as unknown as Database, readBacklog: async () => NOTHING });
});
afterEach(async () => {
  await feed.close();
  vi.useRealTimers();
});

function viewer(acquirerId: number | undefined, userId: string): Viewer & { readonly frames: Frame[] } {
  const frames: Frame[] = [];
  return { acquirerId, userId, frames, show: (text) => frames.push(JSON.parse(text) as Frame), end() {} };
}

async function lastFrame(acquirerId: number | undefined): Promise<Frame> {
  const watching = viewer(acquirerId, 'user');
  feed.watch(watching);
  await vi.advanceTimersByTimeAsync(3_000);
  return watching.frames.at(-1)!;
}

describe('a frame', () => {
  test('a frame of the installation has the latency of the phones, and what failed', async () => {
    const { taps } = await lastFrame(undefined);
    expect(taps).toMatchObject({ perSecond: 40, undecidedPerSecond: 5, failedPerSecond: 1 });
    expect(taps.p99).toBeLessThan(10);
  });

  test("a frame of an acquirer has the round trips of all its switches; a void is not a tap, and no other's taps are included", async () => {
    const { taps, switches, outcomes, processes } = await lastFrame(1);
    expect(taps).toMatchObject({ perSecond: 20, undecidedPerSecond: 3, failedPerSecond: null });
    // A fifth of the responses of both took up to a second.
    expect(taps.p50).toBeLessThan(10);
    expect(taps.p95).toBeGreaterThan(100);
    expect(switches.map(({ name }) => name)).toEqual(['1 1', '1 2']);
    expect(outcomes.every(({ processor }) => processor.startsWith('1 '))).toBe(true);
    expect(processes).toEqual([]);
    expect(feed.history(2).at(-1)).toEqual([
      expect.any(Number),
      20,
      expect.any(Number),
      expect.any(Number),
      expect.any(Number),
    ]);
    expect(feed.history(3).at(-1)).toEqual([expect.any(Number), 0, null, null, null]);
  });
});

describe('consoles', () => {
  test('consoles of one person are at most five', () => {
    const opened = Array.from({ length: 7 }, () => feed.watch(viewer(1, 'one')));
    expect(opened.map((leave) => leave !== undefined)).toEqual([true, true, true, true, true, false, false]);
    opened[0]!();
    expect(feed.watch(viewer(1, 'one'))).toBeDefined();
  });

  test("consoles of acquirers leave some for the operator's people, and all together are at most a hundred", () => {
    const count = (acquirerId: number | undefined, prefix: string) =>
      Array.from({ length: 120 }, (_, at) => feed.watch(viewer(acquirerId, `${prefix} ${at}`))).filter(Boolean).length;
    expect([count(1, 'acquirer'), count(undefined, 'own')]).toEqual([80, 20]);
  });
});
