import { PinState } from '../../payments/model/pin.ts';
import type { PinAttempt, PinExpiry } from '../../payments/ports/store-ports.ts';
import { assignments, ColumnBatch, type ColumnList, columnNames, columnValues } from '../postgres/column-batch.ts';
import { TIMES, toRow } from './commit-taps.ts';
import { GUARDED_COLUMNS, guardedUpdate, guardedWrite, INSERT_ENTRIES } from './guarded-update.ts';
import { openAttempts } from './open-attempts.ts';
import { ATTEMPT_COLUMNS, IS_IN_DOUBT } from './transaction-columns.ts';
import { UsedValues } from './used-values.ts';

const batch = new ColumnBatch({
  ...GUARDED_COLUMNS,
  fromStatus: 'integer',
  ...ATTEMPT_COLUMNS,
  ...TIMES.seconds,
});
const uses = new UsedValues(batch.width);

const SUBMIT_PIN = `
with x as (${batch.rows}),
${uses.queries},
before as (
  select t.* from transactions t join x on t.acquirer_id = x."acquirerId" and t.id = x.id
  where t.attempt = x.attempt - 1 and t.status = x."fromStatus"
    and t.pin_state = ${PinState.awaiting} and t.pin_expires_at > clock_timestamp()
    and not ${IS_IN_DOUBT('t')}
    and x.id not in (select f."usedIn" from foreign_uses f)
  for update of t
),
submitted as (
  update transactions t
  set (${columnNames(ATTEMPT_COLUMNS)}, ${TIMES.names}) = row(${columnValues(ATTEMPT_COLUMNS)}, ${TIMES.values})
  from x join before b on b.acquirer_id = x."acquirerId" and b.id = x.id
  where t.acquirer_id = b.acquirer_id and t.id = b.id
  returning t.acquirer_id, t.id, t.attempt, x."auditEntries", x."overdueSeconds"
),
${openAttempts('submitted')},
superseded as (
  insert into superseded_attempts (acquirer_id, transaction_id, attempt, route_id, switch_revision, tid, mid, stan, rrn, sent_at,
    deadline_at, response_code, authorization_code, sealed_card)
  select acquirer_id, id, attempt, route_id, switch_revision, tid, mid, stan, rrn, sent_at, deadline_at, response_code,
    authorization_code, sealed_card
  from before where stan is not null
),
entries as (
  ${INSERT_ENTRIES}
  select acquirer_id, id, attempt, "auditEntries" from submitted
)
select id from submitted`;

/**
 * Starts the attempts with a PIN, by compare-and-set against other PINs and the end of the wait; false if one of them
 * was faster, or the PIN block was submitted before. The same commit removes the job that ends the wait. It stores the request that asked for the PIN
 * separately, because its switch may still approve it.
 */
export const commitPinAttempts = guardedWrite({
  name: 'commit-pin-attempts',
  batch,
  text: SUBMIT_PIN,
  rowOf: (attempt: PinAttempt) => ({ ...toRow(attempt), id: attempt.transaction.id, fromStatus: attempt.fromStatus }),
  furtherValues: (attempts) => uses.values(attempts),
  jobsOf: ({ enqueue, remove }) => ({ enqueue, remove: remove.map(({ queue, id }) => ({ queue, ids: [id] })) }),
});

const EXPIRY_COLUMNS = {
  disposition: 'integer',
  pinState: 'integer',
  pinTries: 'integer',
  pinJob: 'uuid',
  updatedAtMs: 'ms',
} as const satisfies ColumnList;

const expiryBatch = new ColumnBatch({ ...GUARDED_COLUMNS, ...EXPIRY_COLUMNS });

const EXPIRE = guardedUpdate({
  rows: expiryBatch.rows,
  set: assignments(EXPIRY_COLUMNS),
  guard: `t.attempt = x.attempt
    and t.pin_state = ${PinState.awaiting} and t.pin_expires_at <= clock_timestamp()`,
});

/** Ends waits for a PIN that have expired on the database's clock; false if one has not expired, or a PIN came. */
export const commitPinExpiries = guardedWrite({
  name: 'commit-pin-expiries',
  batch: expiryBatch,
  text: EXPIRE,
  rowOf: ({ transaction: { acquirerId, id, attempt }, disposition, pin, auditEntries, nowMs }: PinExpiry) => {
    return { acquirerId, id, attempt, disposition, ...pin, updatedAtMs: nowMs, auditEntries };
  },
  jobsOf: ({ enqueue }) => ({ enqueue }),
});
