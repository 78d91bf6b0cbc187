import type { TransactionKey } from '../../payments/model/transaction.ts';
import { type Database, mapConnectionLoss } from '../postgres/open-database.ts';

/** A worker that has taken an attempt decides it within this time, or has died. */
const TAKEN_FOR = `interval '15 s'`;

/**
 * Part of a statement that starts attempts.
 *
 * @param rows name of the query that returns them, with "overdueSeconds": null if the transaction may rest at once
 */
export function openAttempts(rows: string): string {
  return `opened as (
  insert into open_attempts (acquirer_id, id, attempt, due_at)
  select acquirer_id, id, attempt, clock_timestamp() + "overdueSeconds" * interval '1 s' from ${rows}
  where "overdueSeconds" is not null
  on conflict (acquirer_id, id) do update set attempt = excluded.attempt, due_at = excluded.due_at
)`;
}

/**
 * Part of a statement that moves transactions to a status in which they may rest.
 *
 * @param rows name of the query that returns them
 */
export function closeAttempts(rows: string): string {
  return `closed as (
  delete from open_attempts o using ${rows} r where o.acquirer_id = r.acquirer_id and o.id = r.id
)`;
}

/** An attempt whose outcome, or the record that the phone has it, is overdue. */
export interface OverdueAttempt extends TransactionKey {
  readonly attempt: number;
}

// Rows of an acquirer that another cell serves are copies.
const TAKE = `
with overdue as (
  select o.acquirer_id, o.id from open_attempts o where o.due_at <= now()
    and not exists (select from acquirer_cells c where c.acquirer_id = o.acquirer_id and c.state in ('arriving', 'gone'))
  order by o.due_at limit $1 for update of o skip locked
)
update open_attempts o set due_at = clock_timestamp() + ${TAKEN_FOR}
from overdue where o.acquirer_id = overdue.acquirer_id and o.id = overdue.id
returning o.acquirer_id as "acquirerId", o.id, o.attempt`;

const POSTPONE = `update open_attempts set due_at = clock_timestamp() + $4 * interval '1 s'
  where acquirer_id = $1 and id = $2 and attempt = $3`;

const CLOSE = 'delete from open_attempts where acquirer_id = $1 and id = $2 and attempt = $3';

/** Attempts that are overdue. Each is given to one worker at a time. */
export class OpenAttempts {
  readonly #database: Database;

  constructor(database: Database) {
    this.#database = database;
  }

  /** Gives the attempts that have been overdue for longest to the caller, for 15 s. */
  async takeOverdue(limit: number): Promise<OverdueAttempt[]> {
    const query = { name: 'take-overdue', text: TAKE, values: [limit] };
    return (await mapConnectionLoss(this.#database.query<OverdueAttempt>(query))).rows;
  }

  /** The attempt is overdue again after this time. */
  async postpone({ acquirerId, id, attempt }: OverdueAttempt, seconds: number): Promise<void> {
    const values = [acquirerId, id, attempt, seconds];
    await mapConnectionLoss(this.#database.query({ name: 'postpone-attempt', text: POSTPONE, values }));
  }

  /** The transaction rests. */
  async close({ acquirerId, id, attempt }: OverdueAttempt): Promise<void> {
    const values = [acquirerId, id, attempt];
    await mapConnectionLoss(this.#database.query({ name: 'close-attempt', text: CLOSE, values }));
  }
}
