import type pg from 'pg';
import type { QueueName } from '#schemas/jobs';
import type { JobRequest } from '../../transactions/model/jobs.ts';

/**
 * The pipeline's job table, as seen by a commit: jobs are enqueued and removed by the same transaction as the status
 * they follow from, so neither exists without the other.
 */
export interface JobsInCommit {
  /** @throws when fewer jobs were inserted than asked for: the commit must not stand */
  enqueue(client: pg.ClientBase, jobs: readonly JobRequest[]): Promise<void>;
  remove(client: pg.ClientBase, queue: QueueName, ids: readonly string[]): Promise<void>;
}
