import { PinState } from '../../payments/model/pin.ts';
import { OUTCOME_GRACE_SECONDS } from '../../payments/model/time-limits.ts';
import { TransactionType } from '../../payments/model/transaction.ts';
import type { GuardedDecision, NewSubmission } from '../../payments/ports/store-ports.ts';
import { assignments, ColumnBatch, type ColumnList } from '../postgres/column-batch.ts';
import { adjustReservations } from './commit-refunds.ts';
import { GUARDED_COLUMNS, type GuardedWrite, guardedUpdate, guardedWrite, storedEntries } from './guarded-update.ts';
import { RESPONSE_COLUMNS } from './transaction-columns.ts';
import { hasUses, UsedValues } from './used-values.ts';

/** Columns that an event at the switch sets. */
const RESULT_COLUMNS = {
  status: 'integer',
  disposition: 'integer',
  ...RESPONSE_COLUMNS,
  reversalState: 'integer',
  pinState: 'integer',
  pinTries: 'integer',
  pinJob: 'uuid',
  updatedAtMs: 'ms',
} as const satisfies ColumnList;

const batch = new ColumnBatch({
  ...GUARDED_COLUMNS,
  fromStatus: 'integer',
  isOverdue: 'boolean',
  pinSeconds: 'float8',
  ...RESULT_COLUMNS,
  needsReview: 'boolean',
});

// An earlier attempt may need review.
const DECIDE = guardedUpdate({
  rows: batch.rows,
  set: `${assignments(RESULT_COLUMNS)}, needs_review = t.needs_review or x."needsReview", handover = null, pin_expires_at = clock_timestamp() + x."pinSeconds" * interval '1 s'`,
  guard: `t.attempt = x.attempt and t.status = x."fromStatus"
    and t.disposition is null and t.pin_state <> ${PinState.awaiting}
    and coalesce(clock_timestamp() >= t.deadline_at + interval '${OUTCOME_GRACE_SECONDS} s', x."isOverdue") = x."isOverdue"`,
  isSometimesSilent: true,
});

/**
 * Commits outcomes by compare-and-set: on the attempt, the status from which they were decided, and the side of the
 * deadline. False if another decision was first.
 */
export const commitDecisions = guardedWrite({
  name: 'commit-decisions',
  batch,
  text: DECIDE,
  rowOf: ({ transaction, decision, isOverdue, nowMs }: GuardedDecision) => ({
    ...decision.result,
    ...decision.pin,
    pinSeconds: decision.pinSeconds,
    acquirerId: transaction.acquirerId,
    id: transaction.id,
    attempt: transaction.attempt,
    fromStatus: transaction.status,
    status: decision.status,
    isOverdue,
    updatedAtMs: nowMs,
    auditEntries: storedEntries(decision.auditEntries),
  }),
  jobsOf: ({ decision: { enqueue } }) => ({ enqueue }),
  isFollowed: ({ transaction }) => transaction.type === TransactionType.Refund,
  afterwards: (client, decided) =>
    adjustReservations(
      client,
      decided.map(({ transaction }) => transaction),
    ),
});

/** Columns that a worker decides for an accepted tap before its bytes are sent. */
const SUBMISSION_COLUMNS = {
  status: 'integer',
  routeId: 'integer',
  switchRevision: 'integer',
  tid: 'text',
  mid: 'text',
  stan: 'text',
  rrn: 'text',
  sentAtMs: 'ms',
  sealedCard: 'bytes',
} as const satisfies ColumnList;

const submissionBatch = new ColumnBatch({
  ...GUARDED_COLUMNS,
  fromStatus: 'integer',
  deadlineSeconds: 'float8',
  overdueSeconds: 'float8',
  ...SUBMISSION_COLUMNS,
});
const uses = new UsedValues(submissionBatch.width);

const UPDATE = {
  rows: submissionBatch.rows,
  set: `${assignments(SUBMISSION_COLUMNS)}, deadline_at = clock_timestamp() + x."deadlineSeconds" * interval '1 s',
    deadline_seconds = x."deadlineSeconds", handover = null`,
  guard: `t.attempt = x.attempt and t.status = x."fromStatus"
    and t.disposition is null and t.pin_state <> ${PinState.awaiting}
    and t.respond_by >= clock_timestamp() + x."deadlineSeconds" * interval '1 s'`,
  attempts: 'open',
} as const;

const OPTIONS = {
  batch: submissionBatch,
  rowOf: ({ transaction, fromStatus, auditEntries, overdueSeconds }: NewSubmission) => ({
    ...transaction,
    fromStatus,
    overdueSeconds,
    auditEntries: storedEntries(auditEntries),
  }),
  jobsOf: () => ({}),
};

const submit = guardedWrite({ ...OPTIONS, name: 'commit-submissions', text: guardedUpdate(UPDATE) });

const submitWithUses = guardedWrite({
  ...OPTIONS,
  name: 'commit-submissions-with-uses',
  text: guardedUpdate({
    ...UPDATE,
    queries: uses.queries,
    guard: `${UPDATE.guard} and x.id not in (select f."usedIn" from foreign_uses f)`,
  }),
  furtherValues: (submissions) => uses.values(submissions),
});

/**
 * Moves to 4 if the row still waits, a full deadline is left, and its PIN block was not submitted before; false
 * otherwise. The attempt is overdue later then.
 */
export const commitSubmissions: GuardedWrite<NewSubmission> = (client, submissions, jobs, seal) =>
  (submissions.some(hasUses) ? submitWithUses : submit)(client, submissions, jobs, seal);
