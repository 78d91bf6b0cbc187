import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { DueJobs } from '../../src/jobs/due-jobs.ts';
import { OverdueAttempts } from '../../src/jobs/overdue-attempts.ts';
import type { WorkName } from '../../src/jobs/queues.ts';
import type { OverdueAttempt } from '../../src/store/transactions/open-attempts.ts';
import { failOnBug } from '../support/fail-on-bug.ts';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

/** Workers' view of a table with these attempts, all of them overdue. */
function table(overdue: OverdueAttempt[]) {
  const calls: string[] = [];
  return {
    calls,
    takeOverdue: async (limit: number) => {
      calls.push('take');
      return overdue.splice(0, limit);
    },
    postpone: async ({ id }: OverdueAttempt, seconds: number) => void calls.push(`postpone ${id} ${seconds}`),
    close: async ({ id }: OverdueAttempt) => void calls.push(`close ${id}`),
  };
}

const attempt = (id: string): OverdueAttempt => ({ acquirerId: 1, id, attempt: 1 });
const ask = { queuesWithDueJobs: async (): Promise<WorkName[]> => [] };

test('attempts from before the start are decided at once, then each as its decision says', async () => {
  const attempts = table([attempt('a'), attempt('b')]);
  const due = new DueJobs(ask, failOnBug);
  const overdue = new OverdueAttempts(
    attempts,
    due,
    async ({ id }) => (id === 'a' ? 'rests' : { againAfterSeconds: 7 }),
    failOnBug,
  );
  await vi.advanceTimersByTimeAsync(1);
  expect(attempts.calls).toEqual(['take', 'close a', 'postpone b 7']);
  await Promise.all([overdue.stop(), due.stop()]);
});

test('more attempts than one statement takes are decided without a pause', async () => {
  const attempts = table(Array.from({ length: 200 }, (_, n) => attempt(String(n))));
  const due = new DueJobs(ask, failOnBug);
  const overdue = new OverdueAttempts(attempts, due, async () => 'rests', failOnBug);
  await vi.advanceTimersByTimeAsync(1);
  expect(attempts.calls.filter((call) => call === 'take')).toHaveLength(4);
  expect(attempts.calls.filter((call) => call.startsWith('close'))).toHaveLength(200);
  await Promise.all([overdue.stop(), due.stop()]);
});

test('an attempt that cannot be decided is reported, and neither closed nor postponed; the others are decided', async () => {
  const failed: unknown[] = [];
  const attempts = table([attempt('a'), attempt('b')]);
  const due = new DueJobs(ask, failOnBug);
  const decide = async ({ id }: OverdueAttempt) => {
    if (id === 'a') throw new Error('the database is unavailable');
    return 'rests' as const;
  };
  const overdue = new OverdueAttempts(attempts, due, decide, (_error, of) => void failed.push(of?.id));
  await vi.advanceTimersByTimeAsync(1);
  expect(failed).toEqual(['a']);
  expect(attempts.calls).toEqual(['take', 'close b']);
  await Promise.all([overdue.stop(), due.stop()]);
});

test('old attempts are looked for every ten minutes, also after the database failed, and not after the stop', async () => {
  const attempts = table([]);
  const due = new DueJobs(ask, failOnBug);
  let isGone = true;
  const failures: unknown[] = [];
  const takeOverdue = (limit: number) => (isGone ? Promise.reject(new Error('gone')) : attempts.takeOverdue(limit));
  const overdue = new OverdueAttempts(
    { ...attempts, takeOverdue },
    due,
    async () => 'rests',
    (error) => failures.push(error),
  );
  await vi.advanceTimersByTimeAsync(1);
  expect(failures).toHaveLength(1);
  isGone = false;
  await vi.advanceTimersByTimeAsync(600_000);
  expect(attempts.calls).toEqual(['take']);
  await Promise.all([overdue.stop(), due.stop()]);
  await vi.advanceTimersByTimeAsync(1_200_000);
  expect(attempts.calls).toEqual(['take']);
});
