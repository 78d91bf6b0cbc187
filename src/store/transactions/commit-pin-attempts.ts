import type pg from 'pg';
import { PinState } from '../../transactions/model/pin.ts';
import type { PinAttempt } from '../../transactions/ports/store-ports.ts';
import { ColumnBatch, columnNames, columnValues } from '../postgres/column-batch.ts';
import { TIMES, toRow } from './commit-taps.ts';
import type { JobsInCommit } from './jobs-in-commit.ts';
import { ATTEMPT_COLUMNS } from './transaction-columns.ts';

const batch = new ColumnBatch({
  acquirerId: 'integer',
  id: 'uuid',
  fromStatus: 'integer',
  ...ATTEMPT_COLUMNS,
  ...TIMES.seconds,
  auditEntries: 'jsonb',
});

// An earlier attempt may need review.
const VALUES = columnValues(ATTEMPT_COLUMNS).replace('x."needsReview"', '(b.needs_review or x."needsReview")');

const SUBMIT_PIN = `
with x as (${batch.rows}),
before as (
  select t.* from transactions t join x on t.acquirer_id = x."acquirerId" and t.id = x.id
  where t.attempt = x.attempt - 1 and t.status = x."fromStatus"
    and t.pin_state = ${PinState.awaiting} and t.pin_expires_at > clock_timestamp()
  for update of t
),
submitted as (
  update transactions t
  set (${columnNames(ATTEMPT_COLUMNS)}, ${TIMES.names}) = row(${VALUES}, ${TIMES.values})
  from x join before b on b.acquirer_id = x."acquirerId" and b.id = x.id
  where t.acquirer_id = b.acquirer_id and t.id = b.id
  returning t.acquirer_id, t.id, t.attempt, x."auditEntries"
),
superseded as (
  insert into superseded_attempts (acquirer_id, transaction_id, attempt, route_id, tid, mid, stan, rrn, sent_at, deadline_at,
    response_code, authorization_code, sealed_card)
  select acquirer_id, id, attempt, route_id, tid, mid, stan, rrn, sent_at, deadline_at, response_code, authorization_code, sealed_card
  from before where stan is not null
),
entries as (
  insert into transaction_events (acquirer_id, transaction_id, attempt, moves)
  select acquirer_id, id, attempt, "auditEntries" from submitted
)
select id from submitted`;

/**
 * Starts the attempts with a PIN, by compare-and-set against other PINs and the end of the wait; false if one of them
 * was faster. The same commit removes the jobs that guarded the wait. It stores the request that asked for the PIN
 * separately, because its switch may still approve it.
 */
export async function commitPinAttempts(
  client: pg.PoolClient,
  attempts: readonly PinAttempt[],
  jobs: JobsInCommit,
): Promise<boolean[]> {
  const rows = attempts.map((attempt) => ({ ...toRow(attempt), fromStatus: attempt.fromStatus }));
  const answer = await client.query<{ id: string }>({
    name: 'commit-pin-attempts',
    text: SUBMIT_PIN,
    values: batch.values(rows),
  });
  const submitted = new Set(answer.rows.map(({ id }) => id));
  const done = attempts.filter(({ transaction }) => submitted.has(transaction.id));
  const enqueue = done.flatMap((attempt) => attempt.enqueue);
  if (enqueue.length > 0) await jobs.enqueue(client, enqueue);
  const needless = Map.groupBy(
    done.flatMap(({ remove }) => remove),
    ({ queue }) => queue,
  );
  for (const [queue, removed] of needless) {
    await jobs.remove(
      client,
      queue,
      removed.map(({ id }) => id),
    );
  }
  return attempts.map(({ transaction }) => submitted.has(transaction.id));
}
