import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { repeatEvery } from '../../src/basics/limits/waits.ts';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

test('a run starts after the interval, counted from the end of the run before', async () => {
  const runs: PromiseWithResolvers<void>[] = [];
  const repetition = repeatEvery(100, () => {
    runs.push(Promise.withResolvers());
    return runs.at(-1)!.promise;
  });
  await vi.advanceTimersByTimeAsync(99);
  expect(runs).toHaveLength(0);
  await vi.advanceTimersByTimeAsync(1_000);
  expect(runs).toHaveLength(1);
  runs[0]!.resolve();
  await vi.advanceTimersByTimeAsync(99);
  expect(runs).toHaveLength(1);
  await vi.advanceTimersByTimeAsync(1);
  expect(runs).toHaveLength(2);
  runs[1]!.resolve();
  await repetition.stop();
});

test('a run that fails is reported, and others follow', async () => {
  const faults: unknown[] = [];
  let runs = 0;
  const failing = async () => {
    throw new Error(`run ${++runs}`);
  };
  const repetition = repeatEvery(100, failing, (fault) => faults.push(fault));
  await vi.advanceTimersByTimeAsync(250);
  await repetition.stop();
  expect(faults).toEqual([new Error('run 1'), new Error('run 2')]);
});

test('stop waits for the current run, and no further one follows', async () => {
  let runs = 0;
  const run = Promise.withResolvers<void>();
  const repetition = repeatEvery(100, () => {
    runs++;
    return run.promise;
  });
  await vi.advanceTimersByTimeAsync(100);
  let isStopped = false;
  const stopping = repetition.stop().then(() => {
    isStopped = true;
  });
  await vi.advanceTimersByTimeAsync(1_000);
  expect(isStopped).toBe(false);
  run.resolve();
  await stopping;
  await vi.advanceTimersByTimeAsync(1_000);
  expect(runs).toBe(1);
});

test('a run that is wanted soon starts now, and the next one follows after the interval', async () => {
  let runs = 0;
  const repetition = repeatEvery(100, async () => void runs++);
  await vi.advanceTimersByTimeAsync(50);
  repetition.runSoon();
  repetition.runSoon();
  await vi.advanceTimersByTimeAsync(1);
  expect(runs).toBe(1);
  await vi.advanceTimersByTimeAsync(98);
  expect(runs).toBe(1);
  await vi.advanceTimersByTimeAsync(2);
  expect(runs).toBe(2);
  await repetition.stop();
  repetition.runSoon();
  await vi.advanceTimersByTimeAsync(1_000);
  expect(runs).toBe(2);
});

test('a run that is wanted during another one starts directly after it', async () => {
  const runs: PromiseWithResolvers<void>[] = [];
  const repetition = repeatEvery(100, () => {
    runs.push(Promise.withResolvers());
    return runs.at(-1)!.promise;
  });
  await vi.advanceTimersByTimeAsync(100);
  repetition.runSoon();
  await vi.advanceTimersByTimeAsync(1_000);
  expect(runs).toHaveLength(1);
  runs[0]!.resolve();
  await vi.advanceTimersByTimeAsync(1);
  expect(runs).toHaveLength(2);
  runs[1]!.resolve();
  await vi.advanceTimersByTimeAsync(99);
  expect(runs).toHaveLength(2);
  await repetition.stop();
});
