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
