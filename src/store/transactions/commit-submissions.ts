import type pg from 'pg';
import { PinState } from '../../transactions/model/pin.ts';
import type { NewSubmission } from '../../transactions/ports/store-ports.ts';
import { assignments, ColumnBatch, type ColumnList } from '../postgres/column-batch.ts';
import type { JobsInCommit } from './jobs-in-commit.ts';

/** Columns that a worker decides for an accepted tap before its bytes are sent. */
const SUBMISSION_COLUMNS = {
  status: 'integer',
  routeId: 'integer',
  tid: 'text',
  mid: 'text',
  stan: 'text',
  rrn: 'text',
  sentAtMs: 'ms',
  overdueJob: 'uuid',
  sealedCard: 'bytes',
} as const satisfies ColumnList;

const batch = new ColumnBatch({
  acquirerId: 'integer',
  id: 'uuid',
  attempt: 'integer',
  fromStatus: 'integer',
  deadlineSeconds: 'float8',
  ...SUBMISSION_COLUMNS,
  auditEntries: 'jsonb',
});

const SUBMIT = `
with x as (${batch.rows}),
submitted as (
  update transactions t
  set ${assignments(SUBMISSION_COLUMNS)}, deadline_at = clock_timestamp() + x."deadlineSeconds" * interval '1 s',
    deadline_seconds = x."deadlineSeconds", handover = null
  from x
  where t.acquirer_id = x."acquirerId" and t.id = x.id and t.attempt = x.attempt and t.status = x."fromStatus"
    and t.disposition is null and t.pin_state <> ${PinState.awaiting}
    and t.answer_by >= clock_timestamp() + x."deadlineSeconds" * interval '1 s'
  returning t.acquirer_id, t.id, t.attempt, x."auditEntries"
),
entries as (
  insert into transaction_events (acquirer_id, transaction_id, attempt, moves)
  select acquirer_id, id, attempt, "auditEntries" from submitted
)
select id from submitted`;

/**
 * Moves to 4 if the row still waits and a full deadline is left; false otherwise. The next `overdue` job replaces the
 * last.
 */
export async function commitSubmissions(
  client: pg.PoolClient,
  submissions: readonly NewSubmission[],
  jobs: JobsInCommit,
): Promise<boolean[]> {
  const records = submissions.map(({ transaction, fromStatus, auditEntries }) => ({
    ...transaction,
    fromStatus,
    auditEntries,
  }));
  const { rows } = await client.query<{ id: string }>({
    name: 'commit-submissions',
    text: SUBMIT,
    values: batch.values(records),
  });
  const submitted = new Set(rows.map(({ id }) => id));
  const done = submissions.filter(({ transaction }) => submitted.has(transaction.id));
  if (done.length > 0) {
    await jobs.enqueue(
      client,
      done.flatMap(({ enqueue }) => enqueue),
    );
    const replaced = done.flatMap(({ remove }) => remove);
    if (replaced.length > 0) await jobs.remove(client, 'overdue', replaced);
  }
  return submissions.map(({ transaction }) => submitted.has(transaction.id));
}
