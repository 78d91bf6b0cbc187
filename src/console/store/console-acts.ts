import { NotFound, RequestRejected } from '../../basics/errors.ts';
import type { StorableJob } from '../../payments/model/decision.ts';
import { OPEN_REVERSAL_STATES, type ReversalStateId, type TransactionKey } from '../../payments/model/transaction.ts';
import { inTransaction } from '../../store/postgres/group-commit.ts';
import type { Database } from '../../store/postgres/open-database.ts';
import type { JobsInCommit } from '../../store/transactions/jobs-in-commit.ts';

/** Reads of console actions, and their changes to jobs. */

export async function integratorOfEvent(
  database: Database,
  acquirerId: number,
  id: string,
): Promise<number | undefined> {
  const text = 'select integrator_id as "integratorId" from webhook_events where acquirer_id = $1 and id = $2';
  const { rows } = await database.query<{ integratorId: number }>(text, [acquirerId, id]);
  return rows[0]?.integratorId;
}

const DEAD_LETTER = `
select case when jsonb_typeof(data -> 'acquirerId') = 'number' then data ->> 'acquirerId' end as "acquirerId"
from pgboss.job where name = 'dead-letters' and id = $1 and state < 'active'`;

/** The acquirer in the payload; null if it names none, undefined if there is no such job. */
export async function acquirerOfDeadLetter(database: Database, id: string): Promise<number | null | undefined> {
  const { rows } = await database.query<{ acquirerId: string | null }>(DEAD_LETTER, [id]);
  if (!rows[0]) return undefined;
  return rows[0].acquirerId === null ? null : Number(rows[0].acquirerId);
}

// Its job may wait for a retry or for its time; a job that a worker has taken is being sent right now.
const LIVE = `
select id, state = 'active' as "isActive" from pgboss.job
where name = 'reverse' and state < 'completed' and data ->> 'id' = $2 and (data ->> 'acquirerId')::int = $1
for update`;

/**
 * Makes the next attempt of a reversal start now: its job moves to the front, or is created if it no longer exists.
 *
 * @param record writes who requested it, when it is known that there is something to do
 * @throws NotFound; RequestRejected (NO_OPEN_REVERSAL)
 */
export async function bringForwardReversal(
  database: Database,
  jobs: JobsInCommit,
  { acquirerId, id }: TransactionKey,
  record: () => Promise<void>,
): Promise<void> {
  const text = `select attempt, reversal_state as state, reversal_attempt as made from transactions
    where acquirer_id = $1 and id = $2`;
  const { rows } = await database.query<{ attempt: number; state: ReversalStateId; made: number }>(text, [
    acquirerId,
    id,
  ]);
  const found = rows[0];
  if (!found) throw new NotFound();
  if (!OPEN_REVERSAL_STATES.includes(found.state)) throw new RequestRejected('NO_OPEN_REVERSAL');
  await record();
  await inTransaction(database, async (client) => {
    const live = await client.query<{ id: string; isActive: boolean }>(LIVE, [acquirerId, id]);
    const waiting = live.rows.filter(({ isActive }) => !isActive).map((job) => job.id);
    const sooner = `update pgboss.job set start_after = now() where name = 'reverse' and id = any($1)`;
    if (waiting.length > 0) await client.query(sooner, [waiting]);
    if (live.rows.length > 0) return;
    const data = { acquirerId, id, attempt: found.attempt, reversalAttempt: found.made + 1 };
    const job: StorableJob = { queue: 'reverse', data };
    await jobs.enqueue(client, [job]);
  });
}
