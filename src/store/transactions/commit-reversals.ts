import type { ReversalStep } from '../../payments/ports/store-ports.ts';
import { ColumnBatch } from '../postgres/column-batch.ts';
import { adjustReservations } from './commit-refunds.ts';
import { GUARDED_COLUMNS, guardedWrite, INSERT_ENTRIES } from './guarded-update.ts';

const batch = new ColumnBatch({
  ...GUARDED_COLUMNS,
  fromState: 'integer',
  fromAttempt: 'integer',
  fromVoidState: 'integer',
  /** Null if the number does not matter. */
  attempts: 'integer',
  reversalState: 'integer',
  reversalAttempt: 'integer',
  disposition: 'integer',
  needsReview: 'boolean',
  voidState: 'integer',
  voidId: 'uuid',
  voidDisposition: 'integer',
  voidNeedsReview: 'boolean',
  kind: 'text',
  sentAtMs: 'ms',
  number: 'integer',
  processorId: 'integer',
  stan: 'text',
  deadlineSeconds: 'float8',
  couldOvertake: 'boolean',
  confirms: 'boolean',
  nextJob: 'uuid',
  response: 'text',
});

/** The attempts of a request's reversal; a step that was decided from fewer or more of them is outdated. */
const IS_CURRENT = (request: string, id: string) => `${request}.reversal_state = x."fromState"
    and ${request}.reversal_attempt = x."fromAttempt"
    and coalesce(x.attempts = (select count(*) from reversal_attempts a
      where a.acquirer_id = x."acquirerId" and a.transaction_id = x.id and a.attempt = x.attempt), true)
    and ${request}.acquirer_id = x."acquirerId" and ${request}.${id} = x.id and ${request}.attempt = x.attempt`;

const OF_ATTEMPT = `a.acquirer_id = x."acquirerId" and a.transaction_id = x.id and a.attempt = x.attempt and a.sent_at = x."sentAtMs"`;

// A request is the current one of its transaction, or one that an attempt with a PIN has superseded; never both.
const STEP = `
with x as (${batch.rows}),
present as (
  update transactions t
  set reversal_state = x."reversalState", reversal_attempt = x."reversalAttempt", disposition = x.disposition,
    needs_review = t.needs_review or x."needsReview", void_state = x."voidState", updated_at = clock_timestamp()
  from x
  where ${IS_CURRENT('t', 'id')} and t.void_state is not distinct from x."fromVoidState"
  returning t.acquirer_id, t.id, t.attempt, t.tid, t.rrn
),
superseded as (
  update superseded_attempts s
  set reversal_state = x."reversalState", reversal_attempt = x."reversalAttempt"
  from x
  where ${IS_CURRENT('s', 'transaction_id')}
  returning s.acquirer_id, s.transaction_id as id, s.attempt, s.tid, s.rrn, x."needsReview"
),
stepped as (
  select acquirer_id, id, attempt, tid, rrn from present
  union all select acquirer_id, id, attempt, tid, rrn from superseded
),
reviewed as (
  update transactions t set needs_review = true, updated_at = clock_timestamp() from superseded s
  where t.acquirer_id = s.acquirer_id and t.id = s.id and s."needsReview" and not t.needs_review
),
void_rows as (
  update transactions v
  set disposition = x."voidDisposition", needs_review = x."voidNeedsReview", updated_at = clock_timestamp()
  from x join present on present.acquirer_id = x."acquirerId" and present.id = x.id
  where v.acquirer_id = x."acquirerId" and v.id = x."voidId"
),
sent as (
  insert into reversal_attempts (acquirer_id, transaction_id, attempt, sent_at, number, processor_id, tid, stan, rrn, deadline_at,
    could_overtake, confirms, next_job)
  select x."acquirerId", x.id, x.attempt, x."sentAtMs", x.number, x."processorId", s.tid, x.stan, s.rrn,
    clock_timestamp() + x."deadlineSeconds" * interval '1 s', x."couldOvertake", x.confirms, x."nextJob"
  from x join stepped s on s.acquirer_id = x."acquirerId" and s.id = x.id where x.kind = 'sent'
),
responded as (
  update reversal_attempts a set response = x.response, responded_at = clock_timestamp()
  from x join stepped s on s.acquirer_id = x."acquirerId" and s.id = x.id
  where x.kind = 'responded' and ${OF_ATTEMPT}
),
unsent as (
  delete from reversal_attempts a using x join stepped s on s.acquirer_id = x."acquirerId" and s.id = x.id
  where x.kind = 'unsent' and ${OF_ATTEMPT}
),
entries as (
  ${INSERT_ENTRIES}
  select s.acquirer_id, s.id, s.attempt, x."auditEntries" from stepped s join x on s.acquirer_id = x."acquirerId" and s.id = x.id
  where jsonb_array_length(x."auditEntries") > 0
)
select id from stepped`;

/**
 * Commits steps of reversals, each guarded by the state and the attempts that it follows. If two follow the same
 * state, one wins; the result of the other is false.
 */
export const commitReversals = guardedWrite({
  name: 'commit-reversals',
  batch,
  text: STEP,
  rowOf: toRow,
  jobsOf: ({ enqueue, remove }) => ({ enqueue, remove: [{ queue: 'reverse', ids: remove }] }),
  afterwards: (client, stepped) =>
    adjustReservations(
      client,
      stepped.map(({ transaction }) => transaction),
    ),
});

function toRow({ transaction, to, voidRow, record, attempts, auditEntries, nowMs }: ReversalStep) {
  const { acquirerId, id, attempt } = transaction;
  const { reversalState: fromState, reversalAttempt: fromAttempt, voidState: fromVoidState } = transaction;
  const at = new Date(nowMs).toISOString();
  return {
    ...{ acquirerId, id, attempt, fromState, fromAttempt, fromVoidState, attempts },
    ...to,
    ...(voidRow && {
      voidId: voidRow.id,
      voidDisposition: voidRow.disposition,
      voidNeedsReview: voidRow.needsReview,
    }),
    ...record,
    auditEntries: auditEntries.map((each) => ({ ...each, at })),
  };
}
