import type { JobRequest } from '../../../src/payments/model/decision.ts';
import type { JobsInCommit } from '../../../src/store/transactions/jobs-in-commit.ts';

/** Takes every job, and remembers what it took and what was removed. */
export function rememberJobs() {
  const enqueued: JobRequest[] = [];
  const removed: [queue: string, ...ids: string[]][] = [];
  const jobs: JobsInCommit = {
    enqueue: async (_client, requests) => void enqueued.push(...requests),
    offer: async (_client, requests) => {
      enqueued.push(...requests);
      return new Set(requests.map(({ id }) => id));
    },
    remove: async (_client, queue, ids) => void removed.push([queue, ...ids]),
  };
  const forget = () => {
    enqueued.length = 0;
    removed.length = 0;
  };
  return { jobs, enqueued, removed, forget };
}
