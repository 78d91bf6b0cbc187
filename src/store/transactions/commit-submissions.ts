import type pg from 'pg';
import { PinState } from '../../transactions/pin/pin-step.ts';
import type { NewSubmission } from '../../transactions/ports.ts';
import type { JobsInCommit } from './jobs-in-commit.ts';
import { assignments, base64, type ColumnList, recordset } from './transaction-columns.ts';

/** What a worker decides about an accepted tap before its bytes leave. */
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

const SUBMIT = `
with x as (select * from json_to_recordset($1::text::json) as x("acquirerId" integer, id uuid, attempt integer, "fromStatus" integer, "deadlineSeconds" float8, ${recordset(SUBMISSION_COLUMNS).record}, moves jsonb)),
submitted as (
  update transactions t
  set ${assignments(SUBMISSION_COLUMNS)}, deadline_at = clock_timestamp() + x."deadlineSeconds" * interval '1 s', handover = null
  from x
  where t.acquirer_id = x."acquirerId" and t.id = x.id and t.attempt = x.attempt and t.status = x."fromStatus"
    and t.disposition is null and t.pin_state <> ${PinState.awaiting}
    and t.answer_by >= clock_timestamp() + x."deadlineSeconds" * interval '1 s'
  returning t.acquirer_id, t.id
),
told as (
  insert into transaction_events (acquirer_id, transaction_id, attempt, moves)
  select x."acquirerId", x.id, x.attempt, x.moves from x join submitted on submitted.acquirer_id = x."acquirerId" and submitted.id = x.id
)
select id from submitted`;

/** To 4, if the row still waits and a full deadline is left; false otherwise. The next `overdue` job replaces the last. */
export async function commitSubmissions(
  client: pg.PoolClient,
  submissions: readonly NewSubmission[],
  jobs: JobsInCommit,
): Promise<boolean[]> {
  const records = submissions.map(({ transaction, fromStatus, moves }) => {
    const { acquirerId, id, attempt, deadlineSeconds, status, routeId, tid, mid, stan, rrn, sentAtMs, overdueJob } =
      transaction;
    const sealedCard = base64(transaction.sealedCard);
    return {
      acquirerId,
      id,
      attempt,
      fromStatus,
      deadlineSeconds,
      status,
      routeId,
      tid,
      mid,
      stan,
      rrn,
      sentAtMs,
      overdueJob,
      sealedCard,
      moves,
    };
  });
  const { rows } = await client.query<{ id: string }>({
    name: 'commit-submissions',
    text: SUBMIT,
    values: [JSON.stringify(records)],
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
