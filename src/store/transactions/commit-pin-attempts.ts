import type pg from 'pg';
import { PinState } from '../../transactions/pin/pin-step.ts';
import type { PinAttempt } from '../../transactions/ports/pin-ports.ts';
import { TIMES, toRecord } from './commit-taps.ts';
import type { JobsInCommit } from './jobs-in-commit.ts';
import { ATTEMPT_COLUMNS, recordset } from './transaction-columns.ts';

const { record, names, values } = recordset(ATTEMPT_COLUMNS);

const SUBMIT_PIN = `
with x as (select * from json_to_recordset($1::text::json) as x("acquirerId" integer, id uuid, "fromStatus" integer, ${record}, ${TIMES.record}, moves jsonb)),
submitted as (
  update transactions t
  set (${names}, ${TIMES.names}) = row(${values}, ${TIMES.values})
  from x
  where t.acquirer_id = x."acquirerId" and t.id = x.id and t.attempt = x.attempt - 1 and t.status = x."fromStatus"
    and t.pin_state = ${PinState.awaiting} and t.pin_expires_at > clock_timestamp()
  returning t.acquirer_id, t.id
),
told as (
  insert into transaction_events (acquirer_id, transaction_id, attempt, moves)
  select x."acquirerId", x.id, x.attempt, x.moves from x join submitted on submitted.acquirer_id = x."acquirerId" and submitted.id = x.id
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
  const records = attempts.map((attempt) => ({ ...toRecord(attempt), fromStatus: attempt.fromStatus }));
  const { rows } = await client.query<{ id: string }>({
    name: 'commit-pin-attempts',
    text: SUBMIT_PIN,
    values: [JSON.stringify(records)],
  });
  const submitted = new Set(rows.map(({ id }) => id));
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
