import { PinState } from '../../payments/model/pin.ts';
import type { NewSubmission } from '../../payments/ports/store-ports.ts';
import { assignments, ColumnBatch, type ColumnList } from '../postgres/column-batch.ts';
import { GUARDED_COLUMNS, type GuardedWrite, guardedUpdate, guardedWrite } from './guarded-update.ts';
import { storedEntries } from './stored-entries.ts';
import { hasUses, UsedValues } from './used-values.ts';

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
  overdueJob: 'uuid',
  sealedCard: 'bytes',
} as const satisfies ColumnList;

const batch = new ColumnBatch({
  ...GUARDED_COLUMNS,
  fromStatus: 'integer',
  deadlineSeconds: 'float8',
  ...SUBMISSION_COLUMNS,
});
const uses = new UsedValues(batch.width);

const UPDATE = {
  rows: batch.rows,
  set: `${assignments(SUBMISSION_COLUMNS)}, deadline_at = clock_timestamp() + x."deadlineSeconds" * interval '1 s',
    deadline_seconds = x."deadlineSeconds", handover = null`,
  guard: `t.attempt = x.attempt and t.status = x."fromStatus"
    and t.disposition is null and t.pin_state <> ${PinState.awaiting}
    and t.answer_by >= clock_timestamp() + x."deadlineSeconds" * interval '1 s'`,
};

const OPTIONS = {
  batch,
  rowOf: ({ transaction, fromStatus, auditEntries }: NewSubmission) => ({
    ...transaction,
    fromStatus,
    auditEntries: storedEntries(auditEntries),
  }),
  jobsOf: ({ enqueue, remove }: NewSubmission) => ({ enqueue, remove: [{ queue: 'overdue' as const, ids: remove }] }),
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
 * otherwise. The next `overdue` job replaces the last.
 */
export const commitSubmissions: GuardedWrite<NewSubmission> = (client, submissions, jobs, seal) =>
  (submissions.some(hasUses) ? submitWithUses : submit)(client, submissions, jobs, seal);
