import type pg from 'pg';
import type { PhoneResponseRecord } from '../../transactions/ports/store-ports.ts';
import { ColumnBatch } from '../postgres/column-batch.ts';
import type { JobsInCommit } from './jobs-in-commit.ts';

const batch = new ColumnBatch({
  acquirerId: 'integer',
  id: 'uuid',
  attempt: 'integer',
  fromStatus: 'integer',
  status: 'integer',
  auditEntries: 'jsonb',
});

const RECORD_ANSWERS = `
with x as (${batch.rows}),
answered as (
  update transactions t
  set status = x.status, updated_at = clock_timestamp()
  from x
  where t.acquirer_id = x."acquirerId" and t.id = x.id and t.attempt = x.attempt and t.status = x."fromStatus"
  returning t.acquirer_id, t.id, t.attempt, x."auditEntries"
)
insert into transaction_events (acquirer_id, transaction_id, attempt, moves)
select acquirer_id, id, attempt, "auditEntries" from answered`;

/**
 * Records which phones got their response, and removes the `overdue` jobs that guarded it. No request waits for this
 * commit. If a crash loses it, an 8 becomes a 9 and nothing else, so it does not wait for the disk.
 */
export async function commitAnswers(
  client: pg.PoolClient,
  answers: readonly PhoneResponseRecord[],
  jobs: JobsInCommit,
): Promise<true[]> {
  await client.query('set local synchronous_commit = off');
  await client.query({ name: 'record-answers', text: RECORD_ANSWERS, values: batch.values(answers) });
  const done = answers.flatMap(({ overdueJob }) => (overdueJob ? [overdueJob] : []));
  if (done.length > 0) await jobs.remove(client, 'overdue', done);
  return answers.map(() => true as const);
}
