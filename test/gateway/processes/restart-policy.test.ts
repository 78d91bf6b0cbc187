import { expect, test } from 'vitest';
import { MAX_SHORT_LIVES, RestartPolicy } from '../../../src/start/processes/process-group.ts';

test('each short life in a row doubles the delay, and too many end the group', () => {
  const policy = new RestartPolicy();
  const delays = Array.from({ length: MAX_SHORT_LIVES + 1 }, () => policy.onEnd(5_000));
  expect(delays).toEqual([1_000, 2_000, 4_000, 8_000, 16_000, 30_000, 30_000, 30_000, 'giveUp']);
});

test('a process that ran for a minute is replaced at once, and the count begins again', () => {
  const policy = new RestartPolicy();
  for (let times = 0; times < MAX_SHORT_LIVES; times++) policy.onEnd(5_000);
  expect(policy.onEnd(60_000)).toBe(0);
  expect(policy.onEnd(5_000)).toBe(1_000);
});
