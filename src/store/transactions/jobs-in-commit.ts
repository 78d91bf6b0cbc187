import type pg from 'pg';
import type { QueueName } from '#schemas/jobs';
import type { JobRequest } from '../../transactions/model/jobs.ts';

/**
 * The job table as seen by a commit: the same database transaction writes a status and its jobs, so neither exists
 * without the other.
 */
export interface JobsInCommit {
  /** @throws if fewer jobs were inserted than requested: the commit must be rolled back */
  enqueue(client: pg.ClientBase, jobs: readonly JobRequest[]): Promise<void>;
  remove(client: pg.ClientBase, queue: QueueName, ids: readonly string[]): Promise<void>;
}

/** The jobs that a write needs from now on, and those that it makes unnecessary. */
export interface JobChanges {
  readonly enqueue?: readonly JobRequest[];
  readonly remove?: { readonly queue: QueueName; readonly ids: readonly string[] }[];
}

/** Changes the jobs of a batch, with one statement for the new ones and one for each queue that loses some. */
export async function changeJobs(
  client: pg.ClientBase,
  jobs: JobsInCommit,
  changes: readonly JobChanges[],
): Promise<void> {
  const enqueue = changes.flatMap((change) => change.enqueue ?? []);
  if (enqueue.length > 0) await jobs.enqueue(client, enqueue);
  const removals = changes.flatMap(({ remove }) => remove ?? []);
  for (const [queue, removed] of Map.groupBy(removals, (removal) => removal.queue)) {
    const ids = removed.flatMap((removal) => removal.ids);
    if (ids.length > 0) await jobs.remove(client, queue, ids);
  }
}
