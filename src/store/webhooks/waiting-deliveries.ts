import type pg from 'pg';
import type { Forwarded, ForwardRequest, WaitingDeliveries } from '../../webhooks/ports.ts';
import { inTransaction } from '../postgres/group-commit.ts';
import type { Database } from '../postgres/open-database.ts';

/** Only one run in the whole installation: a second one at the same time would find the same deliveries. */
const LOCK = `select pg_try_advisory_xact_lock(hashtext('bring webhook deliveries forward')) as "isOurs"`;

/** A delivery that is due this soon need not be brought forward. */
const SOON = `interval '1 s'`;

// Oldest events first, then those that may not be early yet. A job that a worker has taken meanwhile is left
// unchanged.
const BRING_FORWARD = `
with wanted as (select * from unnest($1::integer[], $2::text[], $3::integer[]) as w(acquirer_id, endpoint_id, most)),
waiting as materialized (
  select job.id, w.endpoint_id, w.most, coalesce(e.not_early_before, '-infinity') as allowed_at,
    row_number() over (partition by w.endpoint_id order by coalesce(e.not_early_before, '-infinity') > now(), e.created_at, e.id) as place
  from wanted w
  join pgboss.job on job.data ->> 'endpointId' = w.endpoint_id
  join webhook_events e on e.acquirer_id = w.acquirer_id and e.id = (job.data ->> 'eventId')::uuid
  where job.name = 'webhook' and job.state = 'created' and job.start_after > now() + ${SOON}
),
moved as (
  update pgboss.job set start_after = now() + random() * $4::float8 * interval '1 s'
  from waiting
  where job.name = 'webhook' and job.id = waiting.id and place <= most and allowed_at <= now()
    and job.state = 'created' and job.start_after > now()
  returning waiting.endpoint_id
)
select w.endpoint_id as "endpointId", (select count(*) from moved where moved.endpoint_id = w.endpoint_id)::int as moved,
  (select extract(epoch from min(allowed_at) - now()) from waiting
    where waiting.endpoint_id = w.endpoint_id and allowed_at > now())::float8 as "laterSeconds"
from wanted w`;

/** Deliveries that wait for a later time, in the job table. */
export class PostgresWaitingDeliveries implements WaitingDeliveries {
  readonly #database: Database;

  constructor(database: Database) {
    this.#database = database;
  }

  bringForward(
    wanted: readonly ForwardRequest[],
    withinSeconds: number,
  ): Promise<ReadonlyMap<string, Forwarded> | undefined> {
    return inTransaction(this.#database, async (client) => {
      const { rows } = await client.query<{ isOurs: boolean }>(LOCK);
      return rows[0]!.isOurs ? bringForward(client, wanted, withinSeconds) : undefined;
    });
  }
}

async function bringForward(client: pg.ClientBase, wanted: readonly ForwardRequest[], withinSeconds: number) {
  const { rows } = await client.query<Forwarded & { endpointId: string }>(BRING_FORWARD, [
    wanted.map(({ acquirerId }) => acquirerId),
    wanted.map(({ endpointId }) => endpointId),
    wanted.map(({ most }) => most),
    withinSeconds,
  ]);
  return new Map(rows.map(({ endpointId, moved, laterSeconds }) => [endpointId, { moved, laterSeconds }]));
}
