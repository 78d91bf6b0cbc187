import type pg from 'pg';
import type { PhoneResponseRecord } from '../../transactions/ports/store-ports.ts';
import { ColumnBatch } from '../postgres/column-batch.ts';
import type { JobsInCommit } from './jobs-in-commit.ts';

const batch = new ColumnBatch({
  acquirerId: 'integer',
  id: 'uuid',
  attempt: 'integer',
  fromStatus: 'integer',
  status: 'integer',
  auditEntries: 'jsonb',
});

const ACKNOWLEDGE = `
with x as (${batch.rows}),
acknowledged as (
  update transactions t set status = x.status, updated_at = clock_timestamp()
  from x
  where t.acquirer_id = x."acquirerId" and t.id = x.id and t.attempt = x.attempt and t.status = x."fromStatus"
    and t.disposition is not null
  returning t.acquirer_id, t.id, t.attempt, x."auditEntries"
),
entries as (
  insert into transaction_events (acquirer_id, transaction_id, attempt, moves)
  select acquirer_id, id, attempt, "auditEntries" from acknowledged
)
select id from acknowledged`;

/**
 * Commits acknowledgements of devices and removes the jobs that guarded them; false if the row has changed meanwhile.
 */
export async function commitAcknowledgements(
  client: pg.PoolClient,
  records: readonly PhoneResponseRecord[],
  jobs: JobsInCommit,
): Promise<boolean[]> {
  const { rows } = await client.query<{ id: string }>({
    name: 'commit-acknowledgements',
    text: ACKNOWLEDGE,
    values: batch.values(records),
  });
  const acknowledged = new Set(rows.map(({ id }) => id));
  const done = records.flatMap(({ id, overdueJob }) => (overdueJob && acknowledged.has(id) ? [overdueJob] : []));
  if (done.length > 0) await jobs.remove(client, 'overdue', done);
  return records.map(({ id }) => acknowledged.has(id));
}
