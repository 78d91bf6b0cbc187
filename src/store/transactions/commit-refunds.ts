import type pg from 'pg';
import { Disposition } from '../../transactions/disposition.ts';
import type { NewAttempt } from '../../transactions/ports.ts';
import { type Transaction, TransactionType } from '../../transactions/transaction.ts';
import { ColumnBatch } from '../postgres/column-batch.ts';
import { inTransaction } from '../postgres/group-commit.ts';
import type { Database } from '../postgres/open-database.ts';
import { insertTaps } from './commit-taps.ts';
import type { JobsInCommit } from './jobs-in-commit.ts';

export type ReserveOutcome = 'inserted' | 'exists' | 'refused';

// Two refunds at once wait for each other here, and the second one sees what the first has left.
const RESERVE = `
update transactions set refunded_minor = refunded_minor + $3, updated_at = clock_timestamp()
where acquirer_id = $1 and id = $2 and disposition = ${Disposition.Approved} and void_state is null
  and type not in (${TransactionType.Refund}, ${TransactionType.Void})
  and refunded_minor + $3 <= coalesce(approved_minor, amount_minor)`;

/** Stores a refund with its jobs and reserves its amount on the sale, all in one commit or nothing. */
export async function commitRefund(
  database: Database,
  refund: NewAttempt,
  jobs: JobsInCommit,
): Promise<ReserveOutcome> {
  const { acquirerId, originalId, amountMinor } = refund.transaction;
  try {
    return await inTransaction(database, async (client) => {
      const [inserted] = await insertTaps(client, [refund], jobs);
      if (inserted !== 'inserted') return 'exists';
      const { rowCount } = await client.query({
        name: 'reserve-refund',
        text: RESERVE,
        values: [acquirerId, originalId, amountMinor],
      });
      if (rowCount !== 1) throw new NothingLeft();
      return 'inserted';
    });
  } catch (error) {
    if (error instanceof NothingLeft) return 'refused';
    throw error;
  }
}

/** Rolls the refund back. */
class NothingLeft extends Error {}

const given = new ColumnBatch({ acquirerId: 'integer', originalId: 'uuid', amountMinor: 'bigint' });

// Sales in the order of their ids, so that two commits cannot deadlock over them.
const RELEASE = `
with given_back as (
  select "acquirerId", "originalId", sum("amountMinor")::bigint as amount_minor
  from (${given.rows}) as x
  group by "acquirerId", "originalId"
),
locked as (
  select t.acquirer_id, t.id, g.amount_minor from transactions t
  join given_back g on g."acquirerId" = t.acquirer_id and g."originalId" = t.id
  order by t.acquirer_id, t.id for update of t
)
update transactions t set refunded_minor = t.refunded_minor - locked.amount_minor
from locked where t.acquirer_id = locked.acquirer_id and t.id = locked.id`;

/**
 * Gives back what refunds had reserved on their sales, in the commit that decides that no money goes back. Whatever else
 * is among the transactions has nothing reserved.
 */
export async function releaseReservations(client: pg.ClientBase, ended: readonly Transaction[]): Promise<void> {
  const refunds = ended.filter(({ type }) => type === TransactionType.Refund);
  if (refunds.length === 0) return;
  await client.query({ name: 'release-refunds', text: RELEASE, values: given.values(refunds) });
}
