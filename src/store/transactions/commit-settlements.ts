import type pg from 'pg';
import { PinState } from '../../transactions/model/pin.ts';
import { OUTCOME_GRACE_SECONDS } from '../../transactions/model/time-limits.ts';
import type { GuardedSettlement } from '../../transactions/ports/store-ports.ts';
import { assignments, ColumnBatch, type ColumnList } from '../postgres/column-batch.ts';
import { adjustReservations, reservationsOf } from './commit-refunds.ts';
import type { JobsInCommit } from './jobs-in-commit.ts';

/** Columns that an event at the switch sets. */
const RESULT_COLUMNS = {
  status: 'integer',
  disposition: 'integer',
  responseCode: 'text',
  authorizationCode: 'text',
  unusableAuthorizationCode: 'text',
  settlementDate: 'text',
  approvedMinor: 'bigint',
  cardTags: 'jsonb',
  cardType: 'text',
  providerReference: 'text',
  providerFields: 'jsonb',
  errorCode: 'integer',
  reversalState: 'integer',
  pinState: 'integer',
  pinTries: 'integer',
  pinJob: 'uuid',
  updatedAtMs: 'ms',
} as const satisfies ColumnList;

const batch = new ColumnBatch({
  acquirerId: 'integer',
  id: 'uuid',
  attempt: 'integer',
  fromStatus: 'integer',
  isOverdue: 'boolean',
  pinSeconds: 'float8',
  ...RESULT_COLUMNS,
  needsReview: 'boolean',
  auditEntries: 'jsonb',
});

// An earlier attempt may need review.
const SETTLE = `
with x as (${batch.rows}),
settled as (
  update transactions t
  set ${assignments(RESULT_COLUMNS)}, needs_review = t.needs_review or x."needsReview", handover = null, pin_expires_at = clock_timestamp() + x."pinSeconds" * interval '1 s'
  from x
  where t.acquirer_id = x."acquirerId" and t.id = x.id and t.attempt = x.attempt and t.status = x."fromStatus"
    and t.disposition is null and t.pin_state <> ${PinState.awaiting}
    and coalesce(clock_timestamp() >= t.deadline_at + interval '${OUTCOME_GRACE_SECONDS} s', x."isOverdue") = x."isOverdue"
  returning t.acquirer_id, t.id, t.attempt, x."auditEntries"
),
entries as (
  insert into transaction_events (acquirer_id, transaction_id, attempt, moves)
  select acquirer_id, id, attempt, "auditEntries" from settled
  where jsonb_array_length("auditEntries") > 0
)
select id from settled`;

/**
 * Commits outcomes by compare-and-set: on the attempt, the status from which they were decided, and the side of the
 * deadline. False if another decision was first.
 */
export async function commitSettlements(
  client: pg.PoolClient,
  settlements: readonly GuardedSettlement[],
  jobs: JobsInCommit,
): Promise<boolean[]> {
  const records = settlements.map(({ transaction, settlement, isOverdue, nowMs }) => ({
    ...settlement.result,
    ...settlement.pin,
    pinSeconds: settlement.pinSeconds,
    acquirerId: transaction.acquirerId,
    id: transaction.id,
    attempt: transaction.attempt,
    fromStatus: transaction.status,
    status: settlement.status,
    isOverdue,
    updatedAtMs: nowMs,
    auditEntries: settlement.auditEntries,
  }));
  const { rows } = await client.query<{ id: string }>({
    name: 'commit-settlements',
    text: SETTLE,
    values: batch.values(records),
  });
  const settled = new Set(rows.map(({ id }) => id));
  const done = settlements.filter(({ transaction }) => settled.has(transaction.id));
  const enqueue = done.flatMap(({ settlement }) => settlement.enqueue);
  if (enqueue.length > 0) await jobs.enqueue(client, enqueue);
  await adjustReservations(
    client,
    done.flatMap(({ transaction, settlement }) => reservationsOf(transaction, settlement.result)),
  );
  return settlements.map(({ transaction }) => settled.has(transaction.id));
}
