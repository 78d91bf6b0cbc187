import type pg from 'pg';
import type { AnswerRecord } from '../../transactions/ports.ts';
import type { JobsInCommit } from './jobs-in-commit.ts';

const ACKNOWLEDGE = `
with x as (select * from json_to_recordset($1::text::json) as x("acquirerId" integer, id uuid, attempt integer, "fromStatus" integer, status integer, moves jsonb)),
acknowledged as (
  update transactions t set status = x.status, updated_at = clock_timestamp()
  from x
  where t.acquirer_id = x."acquirerId" and t.id = x.id and t.attempt = x.attempt and t.status = x."fromStatus"
    and t.disposition is not null
  returning t.acquirer_id, t.id
),
told as (
  insert into transaction_events (acquirer_id, transaction_id, attempt, moves)
  select x."acquirerId", x.id, x.attempt, x.moves from x join acknowledged a on a.acquirer_id = x."acquirerId" and a.id = x.id
)
select id from acknowledged`;

/** Commits what devices acknowledge, with the end of the jobs that guarded it; false where the row has moved meanwhile. */
export async function commitAcknowledgements(
  client: pg.PoolClient,
  records: readonly AnswerRecord[],
  jobs: JobsInCommit,
): Promise<boolean[]> {
  const { rows } = await client.query<{ id: string }>({
    name: 'commit-acknowledgements',
    text: ACKNOWLEDGE,
    values: [JSON.stringify(records)],
  });
  const acknowledged = new Set(rows.map(({ id }) => id));
  const done = records.flatMap(({ id, overdueJob }) => (overdueJob && acknowledged.has(id) ? [overdueJob] : []));
  if (done.length > 0) await jobs.remove(client, 'overdue', done);
  return records.map(({ id }) => acknowledged.has(id));
}
