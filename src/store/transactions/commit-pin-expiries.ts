import type pg from 'pg';
import { PinState } from '../../transactions/pin/pin-step.ts';
import type { PinExpiry } from '../../transactions/ports/pin-ports.ts';
import type { JobsInCommit } from './jobs-in-commit.ts';
import { assignments, type ColumnList, recordset } from './transaction-columns.ts';

const EXPIRY_COLUMNS = {
  disposition: 'integer',
  pinState: 'integer',
  pinTries: 'integer',
  pinJob: 'uuid',
  updatedAtMs: 'ms',
} as const satisfies ColumnList;

const EXPIRE = `
with x as (select * from json_to_recordset($1::text::json) as x("acquirerId" integer, id uuid, attempt integer, ${recordset(EXPIRY_COLUMNS).record}, told jsonb)),
expired as (
  update transactions t
  set ${assignments(EXPIRY_COLUMNS)}
  from x
  where t.acquirer_id = x."acquirerId" and t.id = x.id and t.attempt = x.attempt
    and t.pin_state = ${PinState.awaiting} and t.pin_expires_at <= clock_timestamp()
  returning t.acquirer_id, t.id
),
told as (
  insert into transaction_events (acquirer_id, transaction_id, attempt, moves)
  select x."acquirerId", x.id, x.attempt, x.told from x join expired on expired.acquirer_id = x."acquirerId" and expired.id = x.id
)
select id from expired`;

/** Ends waits for a PIN whose time is over by the database's clock; false where it is not, or where a PIN came. */
export async function commitPinExpiries(
  client: pg.PoolClient,
  expiries: readonly PinExpiry[],
  jobs: JobsInCommit,
): Promise<boolean[]> {
  const records = expiries.map(({ transaction, disposition, pin, told, nowMs }) => {
    const { acquirerId, id, attempt } = transaction;
    return { acquirerId, id, attempt, disposition, ...pin, updatedAtMs: nowMs, told };
  });
  const { rows } = await client.query<{ id: string }>({
    name: 'commit-pin-expiries',
    text: EXPIRE,
    values: [JSON.stringify(records)],
  });
  const expired = new Set(rows.map(({ id }) => id));
  const enqueue = expiries.filter(({ transaction }) => expired.has(transaction.id)).flatMap((expiry) => expiry.enqueue);
  if (enqueue.length > 0) await jobs.enqueue(client, enqueue);
  return expiries.map(({ transaction }) => expired.has(transaction.id));
}
