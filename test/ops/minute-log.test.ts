import pino from 'pino';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { minuteOf, type ProcessFigures, startMinuteLog } from '../../src/observe/figures.ts';

const QUIET = {
  taps: { bounds: [0.01, 0.1, 1], counts: [0, 0, 0, 0], failed: 0 },
  commits: { bounds: [1], counts: [0, 0] },
  outcomes: [],
  busy: 0.031,
  rssBytes: 150 * 1_048_576,
  switches: [{ name: '1 1', availability: 'ready' }],
} as unknown as ProcessFigures;

const figures = (changes: object) => ({ ...QUIET, ...changes }) as ProcessFigures;
const outcomes = (approved: number, declined: number) => [
  { processor: '1 1', scheme: 'visa', disposition: 'Approved', count: approved },
  { processor: '1 2', scheme: 'visa', disposition: 'Approved', count: 1 },
  { processor: '1 1', scheme: 'visa', disposition: 'Declined', count: declined },
];

describe('the line of a minute', () => {
  const before = figures({
    taps: { ...QUIET.taps, counts: [100, 5, 0, 1], failed: 1 },
    commits: { bounds: [1], counts: [50, 0] },
    outcomes: outcomes(90, 3),
  });

  test('reports what occurred in it, and nothing earlier', () => {
    const after = figures({
      taps: { ...QUIET.taps, counts: [190, 14, 1, 1], failed: 2 },
      commits: { bounds: [1], counts: [110, 2] },
      outcomes: outcomes(180, 13),
    });
    expect(minuteOf(before, after)).toEqual({
      taps: 100,
      failed: 1,
      p50Ms: 10,
      p99Ms: 100,
      outcomes: { Approved: 90, Declined: 10 },
      commits: 62,
      busy: 0.03,
      rssMegabytes: 150,
      switches: { '1 1': 'ready' },
    });
  });

  test('reports that a minute was quiet', () => {
    expect(minuteOf(before, before)).toMatchObject({ taps: 0, failed: 0, p50Ms: null, p99Ms: null, outcomes: {} });
  });

  test('has no figure for taps slower than the last bound', () => {
    const slow = { ...QUIET.taps, counts: [0, 0, 0, 3] };
    expect(minuteOf(QUIET, figures({ taps: slow }))).toMatchObject({ taps: 3, p50Ms: null, p99Ms: null });
  });
});

describe('a process', () => {
  beforeEach(() => void vi.useFakeTimers());
  afterEach(() => void vi.useRealTimers());

  test('logs a line per minute until it is stopped, and continues if figures cannot be read', async () => {
    const lines: { msg: string }[] = [];
    const log = pino({ level: 'info' }, { write: (line: string) => void lines.push(JSON.parse(line)) });
    let isReadable = true;
    const read = async () => {
      if (!isReadable) throw new Error('no figures');
      return QUIET;
    };
    const stop = startMinuteLog(read, log);
    await vi.advanceTimersByTimeAsync(59_000);
    expect(lines).toEqual([]);
    await vi.advanceTimersByTimeAsync(2_000);
    isReadable = false;
    await vi.advanceTimersByTimeAsync(60_000);
    isReadable = true;
    await vi.advanceTimersByTimeAsync(60_000);
    const [TOLD, FAILED] = ['figures of the last minute', 'figures of the last minute could not be read'];
    expect(lines.map(({ msg }) => msg)).toEqual([TOLD, FAILED, TOLD]);
    stop();
    await vi.advanceTimersByTimeAsync(300_000);
    expect(lines).toHaveLength(3);
  });
});
