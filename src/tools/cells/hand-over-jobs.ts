import { CellError } from './cell-list.ts';
import type { CellSession } from './cell-session.ts';

/**
 * Jobs that are due later than this are copied before the acquirer is held, and remain in the source until the move has
 * ended: a receiver of webhooks that has failed for a day has hundreds of thousands of them.
 */
const LATER = `interval '10 minutes'`;
/** A job that was copied must not become due before the move has ended. */
const STILL_LATER = `interval '5 minutes'`;
/** Jobs that the commit that gives the acquirer up can contain: others wait for it, and it is ended after a second. */
const MAX_DUE_JOBS = 10_000;
const BATCH = 5_000;

export const OF_ACQUIRER = `data ->> 'acquirerId' = $1::text`;
export const LIVE = `state < 'completed' and ${OF_ACQUIRER}`;
/** A job that was run or brought forward since has another time. */
const KEY = `job.id || ' ' || date_part('epoch', job.start_after)::bigint`;
const WAITS = `state in ('created', 'retry') and ${OF_ACQUIRER}`;

const COPY = `
insert into handed_over (acquirer_id, generation, kind, key, value)
select $1::integer, $2, 'later', ${KEY}, to_jsonb(job) from pgboss.job job where ${WAITS} and start_after > now() + ${LATER}
on conflict do nothing`;

const COUNT_DUE = `select count(*)::integer as count from pgboss.job where ${LIVE} and start_after <= now() + ${LATER}`;

/** Copies the jobs that are due later, while the source serves the acquirer. @throws CellError NOT_DRAINED */
export async function copyLaterJobs(source: CellSession, acquirerId: number, generation: number): Promise<void> {
  await source.query(COPY, [acquirerId, generation]);
  const [due] = await source.query<{ count: number }>(COUNT_DUE, [acquirerId]);
  if (due!.count <= MAX_DUE_JOBS) return;
  const what = `${due!.count} jobs of acquirer ${acquirerId} are due within 10 minutes; at most ${MAX_DUE_JOBS} can be moved at once. Run the move again later.`;
  throw new CellError('NOT_DRAINED', what);
}

// One pass over both, because other commits of the acquirer wait for it: 100,000 jobs take half a second.
const HAND_OVER = `
with changed as materialized (
  select h.key, job.name, job.id
  from (select key from handed_over where acquirer_id = $1::integer and generation = $2 and kind = 'later') h
  full join (
    select ${KEY} as key, name, id, ${WAITS} and start_after > now() + ${STILL_LATER} as waits
    from pgboss.job job where ${LIVE}) job on job.key = h.key
  where h.key is null or job.key is null or not job.waits),
forgotten as (
  delete from handed_over where acquirer_id = $1::integer and generation = $2 and kind = 'later'
    and key in (select key from changed)),
taken as (
  delete from pgboss.job job using changed where job.name = changed.name and job.id = changed.id returning job.*)
insert into handed_over (acquirer_id, generation, kind, key, value)
select $1::integer, $2, 'job', name || ' ' || id, to_jsonb(taken) || case state when 'active'
    then jsonb_build_object('state', 'retry', 'started_on', null, 'heartbeat_on', null, 'start_after', now())
    else '{}' end
from taken`;

/** Part of the commit that gives the acquirer up. */
export async function handOverJobs(source: CellSession, acquirerId: number, generation: number): Promise<void> {
  // The planner expects a few jobs. Comparing thousands of them one by one would take longer than the limit.
  await source.query('set local enable_nestloop = off');
  await source.query(HAND_OVER, [acquirerId, generation]);
  await source.query('set local enable_nestloop = on');
}

/** Part of the commit with which the target takes over. */
export const TAKE_JOBS = `
insert into pgboss.job
select job.* from handed_over h cross join lateral jsonb_populate_record(null::pgboss.job, h.value) as job
where acquirer_id = $1 and generation = $2 and h.kind = 'job'
on conflict do nothing`;

// Rows selected with ctid: a plan without statistics would compare each with each.
const TAKE_LATER = `
with part as (
  delete from handed_over where ctid = any(array(
    select ctid from handed_over where acquirer_id = $1 and generation = $2 and kind = 'later' limit ${BATCH}))
  returning value)
, taken as (
  insert into pgboss.job select job.* from part cross join lateral jsonb_populate_record(null::pgboss.job, part.value) as job
  on conflict do nothing)
select count(*)::integer as count from part`;

/** Takes the jobs that are due later. The target serves the acquirer already. */
export async function takeLaterJobs(target: CellSession, acquirerId: number, generation: number): Promise<void> {
  for (;;) {
    const [part] = await target.query<{ count: number }>(TAKE_LATER, [acquirerId, generation]);
    if (part!.count === 0) return;
  }
}

/** Removes what was copied, and with `jobs` also the originals, from a cell that has given the acquirer up. */
export async function dropLaterJobs(
  source: CellSession,
  acquirerId: number,
  { jobs }: { readonly jobs: boolean },
): Promise<void> {
  if (jobs) await source.queryLong(`delete from pgboss.job where ${LIVE}`, [acquirerId]);
  await source.queryLong('delete from handed_over where acquirer_id = $1', [acquirerId]);
}
