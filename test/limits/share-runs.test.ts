import { expect, test } from 'vitest';
import { shareRuns } from '../../src/basics/limits/concurrency-limit.ts';

/** Work whose runs end by hand. */
function heldWork() {
  const runs: PromiseWithResolvers<void>[] = [];
  const share = shareRuns(() => {
    runs.push(Promise.withResolvers());
    return runs.at(-1)!.promise;
  });
  return { runs, share };
}

const turn = () => new Promise(setImmediate);

test('a thousand calls during a run share the next one, which starts after it', async () => {
  const { runs, share } = heldWork();
  const ended: string[] = [];
  const first = share().then(() => ended.push('first'));
  const others = Array.from({ length: 1_000 }, () => share().then(() => ended.push('other')));
  await turn();
  expect(runs).toHaveLength(1);
  runs[0]!.resolve();
  await turn();
  expect(ended).toEqual(['first']);
  expect(runs).toHaveLength(2);
  const late = share();
  runs[1]!.resolve();
  await Promise.all([first, ...others]);
  await turn();
  expect(runs).toHaveLength(3);
  runs[2]!.resolve();
  await late;
});

test('a failed run fails for those who share it, and the next one runs', async () => {
  const { runs, share } = heldWork();
  const failing = share();
  const next = share();
  runs[0]!.reject(new Error('unavailable'));
  await expect(failing).rejects.toThrow('unavailable');
  await turn();
  runs[1]!.resolve();
  await next;
  const again = share();
  runs[2]!.resolve();
  await again;
});
