import type pg from 'pg';
import { isOpen } from '../../payments/decisions/reversal-steps.ts';
import { Disposition } from '../../payments/model/disposition.ts';
import { ReversalState, type Transaction, TransactionType } from '../../payments/model/transaction.ts';
import type { NewAttempt } from '../../payments/ports/store-ports.ts';
import { ColumnBatch } from '../postgres/column-batch.ts';
import { inTransaction } from '../postgres/group-commit.ts';
import type { Database } from '../postgres/open-database.ts';
import { insertTaps } from './commit-taps.ts';
import type { JobsInCommit } from './jobs-in-commit.ts';

export type ReserveOutcome = 'inserted' | 'exists' | 'refused';

/**
 * Of a sale, $2: whether a response of the switch contradicts what a person found about a refund. Its amount is not
 * reserved, but may have been refunded.
 */
export const HAS_REFUND_IN_DOUBT = `exists (select from transactions r
  where r.acquirer_id = $1 and r.original_id = $2 and r.type = ${TransactionType.Refund}
    and r.reversal_state = ${ReversalState.resolved} and r.needs_review)`;

// Two concurrent refunds wait for each other here, and the second one sees the balance that the first has left.
const RESERVE = `
update transactions set refunded_minor = refunded_minor + $3, updated_at = clock_timestamp()
where acquirer_id = $1 and id = $2 and disposition = ${Disposition.Approved} and void_state is null
  and not needs_review
  and type not in (${TransactionType.Refund}, ${TransactionType.Void})
  and refunded_minor + $3 <= coalesce(approved_minor, amount_minor) and not ${HAS_REFUND_IN_DOUBT}`;

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

/** The amount that a refund takes from its sale, or returns to it. */
export interface Reservation {
  readonly acquirerId: number;
  readonly originalId: string | null;
  /** Negative if it is returned. */
  readonly amountMinor: number;
}

type Outcome = Pick<Transaction, 'disposition' | 'reversalState'>;

/** A refund keeps its reservation if money was refunded, or may have been. */
function holdsReservation({ disposition, reversalState }: Outcome): boolean {
  const released: readonly Transaction['disposition'][] = [
    Disposition.Declined,
    Disposition.DeclinedOffline,
    Disposition.UnableToGoOnline,
    Disposition.Voided,
  ];
  return !released.includes(disposition) || isOpen({ reversalState });
}

/** The effect of a transaction's change on the reservation on its sale; empty unless it is a refund. */
export function reservationsOf(before: Transaction, after: Outcome): Reservation[] {
  const { type, acquirerId, originalId, amountMinor } = before;
  const change = Number(holdsReservation(after)) - Number(holdsReservation(before));
  if (type !== TransactionType.Refund || change === 0) return [];
  return [{ acquirerId, originalId, amountMinor: change * (amountMinor ?? 0) }];
}

const changes = new ColumnBatch({ acquirerId: 'integer', originalId: 'uuid', amountMinor: 'bigint' });

// Sales in the order of their ids, so that two commits cannot deadlock. A refund that was approved after its decline
// takes its amount again even if the balance is insufficient: more may then have been refunded than was taken, and a
// person must resolve it.
const ADJUST = `
with change as (
  select "acquirerId", "originalId", sum("amountMinor")::bigint as amount_minor
  from (${changes.rows}) as x
  group by "acquirerId", "originalId"
),
locked as (
  select t.acquirer_id, t.id, c.amount_minor from transactions t
  join change c on c."acquirerId" = t.acquirer_id and c."originalId" = t.id
  order by t.acquirer_id, t.id for update of t
)
update transactions t
set refunded_minor = t.refunded_minor + locked.amount_minor,
  needs_review = t.needs_review or (locked.amount_minor > 0
    and (t.void_state is not null or t.refunded_minor + locked.amount_minor > coalesce(t.approved_minor, t.amount_minor)))
from locked where t.acquirer_id = locked.acquirer_id and t.id = locked.id`;

/** Changes the reservations on sales, in the commit that decides whether money is refunded. */
export async function adjustReservations(client: pg.ClientBase, wanted: readonly Reservation[]): Promise<void> {
  if (wanted.length === 0) return;
  await client.query({ name: 'adjust-reservations', text: ADJUST, values: changes.values(wanted) });
}
