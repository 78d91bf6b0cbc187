import { afterEach, describe, expect, test, vi } from 'vitest';
import { DueJobs } from '../../src/jobs/due-jobs.ts';
import type { WorkName } from '../../src/jobs/queues.ts';
import { failOnBug } from '../support/fail-on-bug.ts';

afterEach(() => {
  vi.useRealTimers();
});

/** A table without jobs, which records the questions and when they came. */
function startDueJobs(onError: (error: unknown) => void = failOnBug, seldomMs = 0) {
  vi.useFakeTimers();
  const startedAtMs = performance.now();
  const asked: { atMs: number; queues: readonly WorkName[] }[] = [];
  const table = {
    due: [] as WorkName[],
    queuesWithDueJobs: async (queues: readonly WorkName[]) => {
      asked.push({ atMs: performance.now() - startedAtMs, queues });
      return queues.filter((queue) => table.due.includes(queue));
    },
  };
  return { due: new DueJobs(table, onError, seldomMs), table, asked };
}

test('the first question is asked at once, for all queues', async () => {
  const { due, asked } = startDueJobs();
  due.watch('webhook', 200, () => {});
  due.watch('purge', 5_000, () => {});
  await vi.advanceTimersByTimeAsync(5);
  expect(asked.map(({ queues }) => queues)).toEqual([['webhook', 'purge']]);
});

test('each queue is asked about within its interval, and few questions serve all', async () => {
  const { due, asked } = startDueJobs();
  const intervals = { webhook: 200, authorize: 250, overdue: 500, 'expire-link': 1_000 } as const;
  for (const [queue, everyMs] of Object.entries(intervals)) due.watch(queue as WorkName, everyMs, () => {});
  await vi.advanceTimersByTimeAsync(10_000);
  expect(asked.length).toBeLessThanOrEqual(52);
  for (const [queue, everyMs] of Object.entries(intervals)) {
    const times = asked.filter(({ queues }) => queues.includes(queue as WorkName)).map(({ atMs }) => atMs);
    const gaps = times.slice(1).map((atMs, n) => atMs - times[n]!);
    expect(Math.max(...gaps)).toBeLessThanOrEqual(everyMs + 5);
    expect(Math.min(...gaps)).toBeGreaterThanOrEqual(everyMs * 0.7);
  }
});

test('a queue with a due job is reported once, until it is watched again', async () => {
  const { due, table, asked } = startDueJobs();
  const onDue = vi.fn();
  due.watch('webhook', 200, onDue);
  await vi.advanceTimersByTimeAsync(300);
  expect(onDue).not.toHaveBeenCalled();
  table.due = ['webhook'];
  await vi.advanceTimersByTimeAsync(1_000);
  expect(onDue).toHaveBeenCalledTimes(1);
  const before = asked.length;
  await vi.advanceTimersByTimeAsync(1_000);
  expect(asked).toHaveLength(before);
  due.watch('webhook', 200, onDue);
  await vi.advanceTimersByTimeAsync(205);
  expect(onDue).toHaveBeenCalledTimes(2);
});

test('a queue that is no longer watched is not reported, even by a response that is on its way', async () => {
  const { due, table } = startDueJobs();
  const onDue = vi.fn();
  table.due = ['webhook'];
  table.queuesWithDueJobs = () => new Promise((resolve) => setTimeout(() => resolve(['webhook']), 50));
  due.watch('webhook', 200, onDue);
  await vi.advanceTimersByTimeAsync(20);
  due.unwatch('webhook');
  await vi.advanceTimersByTimeAsync(1_000);
  expect(onDue).not.toHaveBeenCalled();
});

test('a failure is reported, and the question is asked again', async () => {
  const errors: unknown[] = [];
  const { due, table } = startDueJobs((error) => errors.push(error));
  const response = table.queuesWithDueJobs;
  table.queuesWithDueJobs = async () => {
    table.queuesWithDueJobs = response;
    throw new Error('connection lost');
  };
  table.due = ['webhook'];
  const onDue = vi.fn();
  due.watch('webhook', 200, onDue);
  await vi.advanceTimersByTimeAsync(5);
  expect(errors).toMatchObject([{ message: 'connection lost' }]);
  await vi.advanceTimersByTimeAsync(205);
  expect(onDue).toHaveBeenCalledTimes(1);
});

describe('a process that inserts its own jobs', () => {
  /** The times of the questions about the queue, from now on. */
  const timesOf = (asked: { atMs: number; queues: readonly WorkName[] }[], queue: WorkName) =>
    asked.filter(({ queues }) => queues.includes(queue)).map(({ atMs }) => Math.round(atMs));

  test('asks seldom, and once for all queues', async () => {
    const { due, asked } = startDueJobs(failOnBug, 2_000);
    due.watch('webhook', 200, () => {});
    due.watch('overdue', 500, () => {});
    due.watch('purge', 5_000, () => {});
    await vi.advanceTimersByTimeAsync(20_000);
    expect(asked.length).toBeLessThanOrEqual(12);
    for (const queue of ['webhook', 'overdue'] as const)
      expect(Math.max(...gapsOf(timesOf(asked, queue)))).toBeLessThanOrEqual(2_005);
    expect(Math.max(...gapsOf(timesOf(asked, 'purge')))).toBeLessThanOrEqual(5_005);
  });

  test('asks at the interval of the queue from when a job of its own is due, until it is surely committed', async () => {
    const { due, asked } = startDueJobs(failOnBug, 60_000);
    due.watch('overdue', 500, () => {});
    await vi.advanceTimersByTimeAsync(5);
    due.note('overdue', 10);
    await vi.advanceTimersByTimeAsync(8_900);
    expect(timesOf(asked, 'overdue')).toHaveLength(1);
    await vi.advanceTimersByTimeAsync(40_000);
    const times = timesOf(asked, 'overdue').slice(1);
    expect(times[0]).toBeLessThanOrEqual(10_505);
    expect(times.at(-1)).toBeGreaterThanOrEqual(12_000);
    expect(times.at(-1)).toBeLessThanOrEqual(15_000);
    expect(Math.max(...gapsOf(times))).toBeLessThanOrEqual(505);
  });

  test('asks at the interval of the queue as long as it has work, and a while longer', async () => {
    const { due, asked } = startDueJobs(failOnBug, 60_000);
    due.watch('webhook', 200, () => {});
    await vi.advanceTimersByTimeAsync(5);
    due.hadWork('webhook');
    due.watch('webhook', 200, () => {});
    await vi.advanceTimersByTimeAsync(30_000);
    const times = timesOf(asked, 'webhook').slice(1);
    expect(times.length).toBeGreaterThan(40);
    expect(times.at(-1)).toBeLessThanOrEqual(10_205);
  });

  test('finds a job of its own that is due much later without a note', async () => {
    const { due, table } = startDueJobs(failOnBug, 2_000);
    const onDue = vi.fn();
    due.watch('expire-link', 1_000, onDue);
    due.note('expire-link', 86_400);
    await vi.advanceTimersByTimeAsync(5_000);
    table.due = ['expire-link'];
    await vi.advanceTimersByTimeAsync(2_005);
    expect(onDue).toHaveBeenCalledTimes(1);
  });
});

function gapsOf(times: readonly number[]): number[] {
  return times.slice(1).map((atMs, n) => atMs - times[n]!);
}

test('nothing is asked after the end', async () => {
  const { due, asked } = startDueJobs();
  due.watch('webhook', 200, () => {});
  await vi.advanceTimersByTimeAsync(500);
  await due.stop();
  const before = asked.length;
  due.watch('overdue', 200, () => {});
  await vi.advanceTimersByTimeAsync(1_000);
  expect(asked).toHaveLength(before);
});
