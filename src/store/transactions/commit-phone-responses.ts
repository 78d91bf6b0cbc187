import type pg from 'pg';
import type { PhoneResponseRecord } from '../../transactions/ports/store-ports.ts';
import { ColumnBatch } from '../postgres/column-batch.ts';
import { GUARDED_COLUMNS, guardedUpdate, guardedWrite, unreportedUpdate } from './guarded-update.ts';
import type { JobsInCommit } from './jobs-in-commit.ts';
import type { SharedTimers } from './shared-timers.ts';
import { storedEntries } from './stored-entries.ts';

const batch = new ColumnBatch({ ...GUARDED_COLUMNS, fromStatus: 'integer', status: 'integer' });

const UPDATE = {
  rows: batch.rows,
  set: 'status = x.status, updated_at = clock_timestamp()',
  guard: 't.attempt = x.attempt and t.status = x."fromStatus"',
};

const RECORD_ANSWERS = unreportedUpdate(UPDATE);

/**
 * Records which phones got their response, and removes the `overdue` jobs that guarded it. No request waits for this
 * commit. If a crash loses it, an 8 becomes a 9 and nothing else, so it does not wait for the disk.
 */
export async function commitAnswers(
  client: pg.PoolClient,
  answers: readonly PhoneResponseRecord[],
  jobs: JobsInCommit,
  timers: SharedTimers,
): Promise<true[]> {
  const { own, shared } = timers.jobsToRemove(answers.flatMap(({ overdueJob }) => overdueJob ?? []));
  await Promise.all([
    client.query('set local synchronous_commit = off'),
    client.query({ name: 'record-answers', text: RECORD_ANSWERS, values: batch.values(answers.map(rowOf)) }),
    own.length > 0 && jobs.remove(client, 'overdue', own),
    shared.length > 0 && jobs.remove(client, 'overdue-taps', shared),
  ]);
  return answers.map(() => true as const);
}

const ACKNOWLEDGE = guardedUpdate({ ...UPDATE, guard: `${UPDATE.guard} and t.disposition is not null` });

/**
 * Commits acknowledgements of devices and removes the jobs that guarded them; false if the row has changed meanwhile.
 */
export const commitAcknowledgements = guardedWrite({
  name: 'commit-acknowledgements',
  batch,
  text: ACKNOWLEDGE,
  rowOf,
  jobsOf: ({ overdueJob }) => ({ remove: overdueJob === null ? [] : [{ queue: 'overdue', ids: [overdueJob] }] }),
});

function rowOf(record: PhoneResponseRecord) {
  return { ...record, auditEntries: storedEntries(record.auditEntries) };
}
