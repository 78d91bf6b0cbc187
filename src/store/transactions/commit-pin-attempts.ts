import type pg from 'pg';
import { PinState } from '../../transactions/pin/pin-step.ts';
import type { PinAttempt } from '../../transactions/ports/pin-ports.ts';
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
  moves: 'jsonb',
});

const SUBMIT_PIN = `
with x as (${batch.rows}),
submitted as (
  update transactions t
  set (${columnNames(ATTEMPT_COLUMNS)}, ${TIMES.names}) = row(${columnValues(ATTEMPT_COLUMNS)}, ${TIMES.values})
  from x
  where t.acquirer_id = x."acquirerId" and t.id = x.id and t.attempt = x.attempt - 1 and t.status = x."fromStatus"
    and t.pin_state = ${PinState.awaiting} and t.pin_expires_at > clock_timestamp()
  returning t.acquirer_id, t.id, t.attempt, x.moves
),
told as (
  insert into transaction_events (acquirer_id, transaction_id, attempt, moves)
  select acquirer_id, id, attempt, moves from submitted
)
select id from submitted`;

/**
 * Begins the attempts that bring a PIN, by compare-and-set against other PINs and the end of the wait; false where one of
 * them was faster. The jobs that guarded the wait go in the same commit.
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
