import { expect, test, vi } from 'vitest';
import { Statistics, statisticsLines } from '../../src/cli/simulate.ts';

const IDLE = {
  processor: 'type-1',
  lines: 1,
  requests: 0,
  approved: 0,
  declined: 0,
  reversals: 0,
  refused: 0,
  network: 0,
};

/** Emulates a terminal: the cursor moves up (F) and lines are erased (J) as requested. */
class Screen {
  readonly isTTY: boolean;
  readonly columns = 60;
  lines: string[] = [''];

  constructor(isTTY: boolean) {
    this.isTTY = isTTY;
  }

  write(text: string): void {
    const [first = '', ...sequences] = text.split('\u001b[');
    this.#print(first);
    for (const sequence of sequences) {
      const [, count, action, rest = ''] = /^(\d*)([A-Z])([\s\S]*)$/.exec(sequence) ?? [];
      if (action === 'F') this.lines.length -= Number(count);
      if (action === 'J') this.lines[this.lines.length - 1] = '';
      this.#print(rest);
    }
  }

  #print(text: string): void {
    const [first = '', ...more] = text.split('\n');
    this.lines[this.lines.length - 1] += first;
    this.lines.push(...more);
  }
}

test('a line shows the rate since the last one and the sums since the start', () => {
  const now = { ...IDLE, requests: 250, approved: 200, declined: 30, reversals: 15, refused: 5, lines: 2 };
  expect(statisticsLines([now], [{ ...IDLE, requests: 50 }], 2)).toEqual([
    'type-1  2 connections  100/s  200 approved  30 declined  15 reversals  5 refused',
  ]);
});

test('the lines are updated in place each second on a terminal, and remain at the end', () => {
  vi.useFakeTimers();
  const screen = new Screen(true);
  const statistics = new Statistics(screen);
  let counters = [IDLE, { ...IDLE, processor: 'type-2' }];
  statistics.start(() => counters);
  vi.advanceTimersByTime(1_000);
  expect(screen.lines).toEqual([expect.stringContaining('0 approved'), expect.stringContaining('type-2'), '']);
  counters = [{ ...IDLE, approved: 7 }, counters[1]!];
  vi.advanceTimersByTime(2_000);
  expect(screen.lines).toEqual([expect.stringContaining('7 approved'), expect.stringContaining('type-2'), '']);
  statistics.aside(() => screen.write('a request was refused\n'));
  expect(screen.lines).toEqual(['a request was refused', expect.stringContaining('7 approved'), expect.anything(), '']);
  statistics.stop();
  expect(screen.lines).toHaveLength(4);
  expect(screen.lines.every(({ length }) => length < screen.columns)).toBe(true);
  vi.useRealTimers();
});

test('elsewhere a line is added every ten seconds, and only if something changed', () => {
  vi.useFakeTimers();
  const file = new Screen(false);
  const statistics = new Statistics(file);
  let counters = [IDLE];
  statistics.start(() => counters);
  vi.advanceTimersByTime(30_000);
  expect(file.lines).toEqual(['']);
  counters = [{ ...IDLE, approved: 7 }];
  vi.advanceTimersByTime(9_000);
  expect(file.lines).toEqual(['']);
  vi.advanceTimersByTime(21_000);
  expect(file.lines).toEqual([expect.stringContaining('7 approved'), '']);
  statistics.stop();
  expect(file.lines).toHaveLength(2);
  vi.useRealTimers();
});
