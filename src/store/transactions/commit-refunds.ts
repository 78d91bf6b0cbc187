import type pg from 'pg';
import { Disposition } from '../../payments/model/disposition.ts';
import { type Transaction, TransactionType } from '../../payments/model/transaction.ts';
import type { NewAttempt } from '../../payments/ports/store-ports.ts';
import { inTransaction } from '../postgres/group-commit.ts';
import type { Database } from '../postgres/open-database.ts';
import { insertTaps } from './commit-taps.ts';
import type { JobsInCommit } from './jobs-in-commit.ts';
import { HAS_SWITCH, IS_BLOCKED, KEEPS_AMOUNT } from './transaction-columns.ts';

export type ReserveOutcome = 'inserted' | 'exists' | 'refused';

// Two concurrent refunds wait for each other here, and the second one sees the balance that the first has left.
const RESERVE = `
update transactions s set refunded_minor = refunded_minor + $3, updated_at = clock_timestamp()
where acquirer_id = $1 and id = $2 and disposition = ${Disposition.Approved} and void_state is null
  and type not in (${TransactionType.Refund}, ${TransactionType.Void})
  and refunded_minor + $3 <= coalesce(approved_minor, amount_minor) and not ${IS_BLOCKED('s')}
  and ${HAS_SWITCH('s')}`;

/** Stores a refund with its jobs and reserves its amount on the sale, all in one commit. */
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

const OF_SALES = `unnest($1::integer[], $2::uuid[]) as x(acquirer_id, id)`;

// Sales in the order of their ids, so that two commits cannot deadlock.
const LOCK_SALES = `select from transactions t join ${OF_SALES} using (acquirer_id, id)
  order by t.acquirer_id, t.id for update of t`;

// A separate statement: only that one sees the refunds of commits that held the locks before. A refund that was
// declined, and whose late approval arrives, reserves its amount again even if less is left of the sale: more may then have been
// refunded than was sold, and a person must resolve it.
const RESERVED = `coalesce((select sum(r.amount_minor) from transactions r
    where r.acquirer_id = t.acquirer_id and r.original_id = t.id and r.type = ${TransactionType.Refund}
      and ${KEEPS_AMOUNT('r')}), 0)`;
const ADJUST = `
with reserved as (
  select t.acquirer_id, t.id, ${RESERVED}::bigint as minor from transactions t join ${OF_SALES} using (acquirer_id, id)
)
update transactions t
set refunded_minor = reserved.minor,
  needs_review = t.needs_review or (reserved.minor > t.refunded_minor and (t.disposition <> ${Disposition.Approved}
    or t.void_state is not null or reserved.minor > coalesce(t.approved_minor, t.amount_minor)))
from reserved
where t.acquirer_id = reserved.acquirer_id and t.id = reserved.id and t.refunded_minor <> reserved.minor`;

/**
 * Reserves on their sales what refunds keep, and releases the rest, in the commit that has changed the refunds. Other
 * transactions reserve nothing.
 */
export async function adjustReservations(
  client: pg.ClientBase,
  changed: readonly Pick<Transaction, 'acquirerId' | 'originalId' | 'type'>[],
): Promise<void> {
  const refunds = changed.filter(({ type, originalId }) => type === TransactionType.Refund && originalId !== null);
  if (refunds.length === 0) return;
  const sales = new Map(refunds.map(({ acquirerId, originalId }) => [originalId, acquirerId]));
  const values = [[...sales.values()], [...sales.keys()]];
  await client.query({ name: 'lock-sales', text: LOCK_SALES, values });
  await client.query({ name: 'adjust-reservations', text: ADJUST, values });
}
