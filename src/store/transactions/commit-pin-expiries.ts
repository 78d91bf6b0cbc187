import type pg from 'pg';
import { PinState } from '../../transactions/model/pin.ts';
import type { PinExpiry } from '../../transactions/ports/store-ports.ts';
import { assignments, ColumnBatch, type ColumnList } from '../postgres/column-batch.ts';
import type { JobsInCommit } from './jobs-in-commit.ts';

const EXPIRY_COLUMNS = {
  disposition: 'integer',
  pinState: 'integer',
  pinTries: 'integer',
  pinJob: 'uuid',
  updatedAtMs: 'ms',
} as const satisfies ColumnList;

const batch = new ColumnBatch({
  acquirerId: 'integer',
  id: 'uuid',
  attempt: 'integer',
  ...EXPIRY_COLUMNS,
  auditEntries: 'jsonb',
});

const EXPIRE = `
with x as (${batch.rows}),
expired as (
  update transactions t
  set ${assignments(EXPIRY_COLUMNS)}
  from x
  where t.acquirer_id = x."acquirerId" and t.id = x.id and t.attempt = x.attempt
    and t.pin_state = ${PinState.awaiting} and t.pin_expires_at <= clock_timestamp()
  returning t.acquirer_id, t.id, t.attempt, x."auditEntries"
),
entries as (
  insert into transaction_events (acquirer_id, transaction_id, attempt, moves)
  select acquirer_id, id, attempt, "auditEntries" from expired
)
select id from expired`;

/** Ends waits for a PIN that have expired on the database's clock; false if one has not expired, or a PIN came. */
export async function commitPinExpiries(
  client: pg.PoolClient,
  expiries: readonly PinExpiry[],
  jobs: JobsInCommit,
): Promise<boolean[]> {
  const records = expiries.map(({ transaction, disposition, pin, auditEntries, nowMs }) => {
    const { acquirerId, id, attempt } = transaction;
    return { acquirerId, id, attempt, disposition, ...pin, updatedAtMs: nowMs, auditEntries };
  });
  const { rows } = await client.query<{ id: string }>({
    name: 'commit-pin-expiries',
    text: EXPIRE,
    values: batch.values(records),
  });
  const expired = new Set(rows.map(({ id }) => id));
  const enqueue = expiries.filter(({ transaction }) => expired.has(transaction.id)).flatMap((expiry) => expiry.enqueue);
  if (enqueue.length > 0) await jobs.enqueue(client, enqueue);
  return expiries.map(({ transaction }) => expired.has(transaction.id));
}
