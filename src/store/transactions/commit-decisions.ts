import { PinState } from '../../payments/model/pin.ts';
import { OUTCOME_GRACE_SECONDS } from '../../payments/model/time-limits.ts';
import { TransactionType } from '../../payments/model/transaction.ts';
import type { GuardedDecision } from '../../payments/ports/store-ports.ts';
import { assignments, ColumnBatch, type ColumnList } from '../postgres/column-batch.ts';
import { adjustReservations } from './commit-refunds.ts';
import { GUARDED_COLUMNS, guardedUpdate, guardedWrite } from './guarded-update.ts';
import { storedEntries } from './stored-entries.ts';

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
