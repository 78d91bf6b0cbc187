import type pg from 'pg';
import { Disposition } from '../../transactions/disposition.ts';
import type { ReversalStep } from '../../transactions/ports.ts';
import { ColumnBatch } from '../postgres/column-batch.ts';
import { releaseReservations } from './commit-refunds.ts';
import type { JobsInCommit } from './jobs-in-commit.ts';

const batch = new ColumnBatch({
  acquirerId: 'integer',
  id: 'uuid',
  attempt: 'integer',
  fromState: 'integer',
  fromAttempt: 'integer',
  reversalState: 'integer',
  reversalAttempt: 'integer',
  disposition: 'integer',
  needsReview: 'boolean',
  told: 'jsonb',
});

const STEP = `
with x as (${batch.rows}),
stepped as (
  update transactions t
  set reversal_state = x."reversalState", reversal_attempt = x."reversalAttempt", disposition = x.disposition,
    needs_review = x."needsReview", updated_at = clock_timestamp()
  from x
  where t.acquirer_id = x."acquirerId" and t.id = x.id and t.attempt = x.attempt
    and t.reversal_state = x."fromState" and t.reversal_attempt = x."fromAttempt"
  returning t.acquirer_id, t.id, t.attempt, x.told
),
told as (
  insert into transaction_events (acquirer_id, transaction_id, attempt, moves)
  select acquirer_id, id, attempt, told from stepped
)
select id from stepped`;

/**
 * Commits steps of reversals, each guarded by the state and the attempt it follows: of two that follow the same, one wins.
 * Overtaken steps are false.
 */
export async function commitReversals(
  client: pg.PoolClient,
  steps: readonly ReversalStep[],
  jobs: JobsInCommit,
): Promise<boolean[]> {
  const records = steps.map(({ transaction, to, told, nowMs }) => {
    const { acquirerId, id, attempt, reversalState: fromState, reversalAttempt: fromAttempt } = transaction;
    const at = new Date(nowMs).toISOString();
    return { acquirerId, id, attempt, fromState, fromAttempt, ...to, told: told.map((each) => ({ ...each, at })) };
  });
  const { rows } = await client.query<{ id: string }>({
    name: 'commit-reversals',
    text: STEP,
    values: batch.values(records),
  });
  const stepped = new Set(rows.map(({ id }) => id));
  const done = steps.filter(({ transaction }) => stepped.has(transaction.id));
  const enqueue = done.flatMap((step) => step.enqueue);
  if (enqueue.length > 0) await jobs.enqueue(client, enqueue);
  const remove = done.flatMap((step) => step.remove);
  if (remove.length > 0) await jobs.remove(client, 'reverse', remove);
  await releaseReservations(
    client,
    done.filter(becameVoided).map(({ transaction }) => transaction),
  );
  return steps.map(({ transaction }) => stepped.has(transaction.id));
}

/** Now, and not before: a reversal that is sent again after a late approval ends a second time. */
function becameVoided({ transaction, to }: ReversalStep): boolean {
  return to.disposition === Disposition.Voided && transaction.disposition !== Disposition.Voided;
}
