import { randomUUID } from 'node:crypto';
import { MUST_NOT_REST } from '../../payments/model/status.ts';
import { CellError } from './cell-list.ts';
import type { CellSession } from './cell-session.ts';
import {
  changeOwnership,
  excludeWrites,
  haveLinesClosed,
  noteStep,
  type Ownership,
  type OwnershipState,
} from './ownership.ts';
import { dropSubscriptions } from './replication.ts';

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

const OF_ACQUIRER = `data ->> 'acquirerId' = $1::text`;
const LIVE = `state < 'completed' and ${OF_ACQUIRER}`;
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
async function handOverJobs(source: CellSession, acquirerId: number, generation: number): Promise<void> {
  // The planner expects a few jobs. Comparing thousands of them one by one would take longer than the limit.
  await source.query('set local enable_nestloop = off');
  await source.query(HAND_OVER, [acquirerId, generation]);
  await source.query('set local enable_nestloop = on');
}

/** Part of the commit with which the target takes over. */
const TAKE_JOBS = `
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

/** All other commits of the acquirer wait for this transaction. */
const LOCK_TIMEOUT = '300ms';
const STATEMENT_TIMEOUT = '1s';

/**
 * Transactions that a request or a switch may still change: every one that must not rest has an open attempt. A PIN that
 * is awaited and a reversal between two attempts may be moved.
 */
const UNFINISHED = `
select (
  (select count(*) from open_attempts o join transactions t on t.acquirer_id = o.acquirer_id and t.id = o.id
    where o.acquirer_id = $1::integer and t.status in (${MUST_NOT_REST.join()}))
  + (select count(*) from pgboss.job where name in ('authorize', 'refund', 'reverse', 'complete') and state = 'active' and ${OF_ACQUIRER})
  + (select count(*) from reversal_attempts
    where acquirer_id = $1::integer and responded_at is null and deadline_at > clock_timestamp()
      and sent_at > clock_timestamp() - interval '10 minutes')
)::integer as count`;

/** How much work is in progress that must end before the acquirer can be given up. */
export async function countUnfinished(source: CellSession, acquirerId: number): Promise<number> {
  return (await source.query<{ count: number }>(UNFINISHED, [acquirerId]))[0]!.count;
}

const SCOPES = `(scope = $1::text or scope like $1::text || ' %')`;

const HAND_OVER_STANS = `
insert into handed_over (acquirer_id, generation, kind, key, value)
select $1::integer, $2, 'stan', scope, to_jsonb(stan_blocks) from stan_blocks where ${SCOPES}`;

const HAND_OVER_PURGES = `
insert into handed_over (acquirer_id, generation, kind, key, value)
select $1::integer, $2, 'purge', kind, to_jsonb(up_to) from purge_marks`;

/** The sequences of the acquirer's tables: entries of a trail are in the order of their ids. */
const HAND_OVER_SEQUENCES = `
insert into handed_over (acquirer_id, generation, kind, key, value)
select $1::integer, $2, 'sequence', c.relname || '.' || a.attname,
  to_jsonb(coalesce(pg_sequence_last_value(pg_get_serial_sequence(c.oid::regclass::text, a.attname)::regclass), 0))
from pg_attribute a join pg_class c on c.oid = a.attrelid
where a.attnum > 0 and not a.attisdropped and c.relkind in ('r', 'p') and not c.relispartition
  and c.relnamespace = 'public'::regnamespace and pg_get_serial_sequence(c.oid::regclass::text, a.attname) is not null
  and c.relname <> all(array['acquirers', 'cell_moves', 'migrations'])
  and exists (select from pg_attribute k where k.attrelid = c.oid and k.attname = 'acquirer_id')`;

const END = `insert into handed_over (acquirer_id, generation, kind, key, value) values ($1, $2, 'end', '', 'true')`;

/**
 * Gives the acquirer up: one commit on the source, after which no process of this cell can store anything for it. The
 * commit waits for those that have begun, and contains what the target needs besides the tables.
 *
 * @returns false if work has begun meanwhile, a connection to a switch is open, or the hold has ended: nothing was
 * changed
 */
export async function giveUp(source: CellSession, acquirerId: number, ownership: Ownership): Promise<boolean> {
  const { generation } = ownership;
  return source.transaction(async () => {
    await source.query(
      `set local lock_timeout = '${LOCK_TIMEOUT}'; set local statement_timeout = '${STATEMENT_TIMEOUT}'`,
    );
    if (!(await haveLinesClosed(source, acquirerId))) return false;
    await excludeWrites(source, acquirerId);
    const held = await source.query(
      `select from acquirer_cells where acquirer_id = $1 and generation = $2 and state = 'closing' and held_until > clock_timestamp() for update`,
      [acquirerId, generation],
    );
    if (held.length === 0 || (await countUnfinished(source, acquirerId)) > 0) return false;
    await handOverJobs(source, acquirerId, generation);
    for (const text of [HAND_OVER_STANS, HAND_OVER_PURGES, HAND_OVER_SEQUENCES, END]) {
      await source.query(text, [acquirerId, generation]);
    }
    await changeOwnership(source, acquirerId, { generation, states: ['closing'] }, { ...ownership, state: 'gone' });
    await noteStep(source, acquirerId, generation, 'gaveUp');
    return true;
  });
}

/** Writes a mark in the source. When it is in the target, every earlier change is, and could be applied. */
export async function writeMark(source: CellSession, acquirerId: number, generation: number): Promise<string> {
  const mark = randomUUID();
  const text = `insert into handed_over (acquirer_id, generation, kind, key, value) values ($1, $2, 'mark', '', to_jsonb($3::text))
    on conflict (acquirer_id, generation, kind, key) do update set value = excluded.value`;
  await source.query(text, [acquirerId, generation, mark]);
  return mark;
}

export async function hasMark(
  target: CellSession,
  acquirerId: number,
  generation: number,
  mark: string,
): Promise<boolean> {
  const text = `select from handed_over where acquirer_id = $1 and generation = $2 and kind = 'mark' and value = to_jsonb($3::text)`;
  return (await target.query(text, [acquirerId, generation, mark])).length > 0;
}

/** Whether everything has arrived: the source writes the end last, and replication keeps the order of its commits. */
export async function hasArrived(target: CellSession, acquirerId: number, generation: number): Promise<boolean> {
  const text = `select from handed_over where acquirer_id = $1 and generation = $2 and kind = 'end'`;
  return (await target.query(text, [acquirerId, generation])).length > 0;
}

const OF_MOVE = 'acquirer_id = $1 and generation = $2';

/**
 * The counter of this cell is ahead only if its database has skipped numbers since the acquirer left it. Then it continues,
 * but a scope that is held stays held.
 */
const TAKE_STANS = `
insert into stan_blocks as b
select block.* from handed_over h cross join lateral jsonb_populate_record(null::stan_blocks, h.value) as block
where ${OF_MOVE} and h.kind = 'stan'
on conflict (scope) do update set (next_value, business_date, day_first, held_until, reserved_at, hour_at, hour_first) = (
  select next_value, business_date, day_first, held_until, reserved_at, excluded.hour_at, excluded.hour_first from (
    select excluded.next_value, excluded.business_date, excluded.day_first, excluded.held_until, excluded.reserved_at
    where excluded.next_value >= b.next_value
    union all
    select b.next_value, b.business_date, b.day_first, greatest(b.held_until, excluded.held_until), b.reserved_at
    where excluded.next_value < b.next_value) as further)`;

/** Rows that the source has not purged yet may be older than the mark of this cell. */
const TAKE_PURGES = `
update purge_marks m set up_to = least(m.up_to, coalesce(
  (select (h.value #>> '{}')::timestamptz from handed_over h where ${OF_MOVE} and h.kind = 'purge' and h.key = m.kind),
  '-infinity'))`;

const TAKE_SEQUENCES = `
select setval(seq.id, greatest((h.value #>> '{}')::bigint, coalesce(pg_sequence_last_value(seq.id), 1)))
from handed_over h
cross join lateral (select pg_get_serial_sequence(split_part(h.key, '.', 1), split_part(h.key, '.', 2))::regclass as id) seq
where ${OF_MOVE} and h.kind = 'sequence'`;

/**
 * Takes the acquirer over: one commit, after which this cell serves it. The commit ends replication to this cell, so
 * nothing that the other cell still does to its stale rows (its purge, `tapwire cell forget`) is applied here.
 *
 * @param from the state in which the cell must be
 * @throws CellError CANNOT_MOVE if it is not, because another command has continued or undone the move
 */
export async function takeOver(
  cell: CellSession,
  acquirerId: number,
  from: OwnershipState,
  ownership: Ownership,
): Promise<void> {
  const { generation } = ownership;
  await cell.transaction(async () => {
    await dropSubscriptions(cell, acquirerId);
    await excludeWrites(cell, acquirerId);
    // First, because the triggers refuse the jobs of an acquirer that another cell serves.
    await changeOwnership(cell, acquirerId, { generation, states: [from] }, ownership);
    if (!(await hasArrived(cell, acquirerId, generation))) {
      throw new CellError('CANNOT_MOVE', `The last change of acquirer ${acquirerId} is not in ${cell.cell.name}.`);
    }
    for (const text of [TAKE_JOBS, TAKE_STANS, TAKE_PURGES, TAKE_SEQUENCES]) {
      await cell.query(text, [acquirerId, generation]);
    }
    const taken = `delete from handed_over where acquirer_id = $1 and (generation <> $2 or kind <> 'later')`;
    await cell.query(taken, [acquirerId, generation]);
    await noteStep(cell, acquirerId, generation, 'tookOver');
  });
}
