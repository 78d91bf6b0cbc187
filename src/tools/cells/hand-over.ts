import { randomUUID } from 'node:crypto';
import { MUST_NOT_REST } from '../../payments/model/status.ts';
import { CellError } from './cell-list.ts';
import type { CellSession } from './cell-session.ts';
import { handOverJobs, LIVE, OF_ACQUIRER, TAKE_JOBS } from './hand-over-jobs.ts';
import {
  changeOwnership,
  excludeWrites,
  haveLinesClosed,
  noteStep,
  type Ownership,
  type OwnershipState,
} from './ownership.ts';
import { dropSubscriptions } from './replication.ts';

/** All other commits of the acquirer wait for this transaction. */
const LOCK_TIMEOUT = '300ms';
const STATEMENT_TIMEOUT = '1s';

/**
 * Transactions that a request or a switch may still change, found through their jobs: every status that must not rest
 * has one. A PIN that is awaited and a reversal between two attempts may be moved.
 */
const UNFINISHED = `
with of_jobs as (
  select data ->> 'id' as id from pgboss.job where name in ('overdue', 'authorize', 'refund') and ${LIVE}
  union
  select tap ->> 'id' from pgboss.job, jsonb_array_elements(data -> 'taps') tap where name = 'overdue-taps' and ${LIVE}
)
select (
  (select count(*) from transactions t join of_jobs on of_jobs.id::uuid = t.id
    where t.acquirer_id = $1::integer and t.status in (${MUST_NOT_REST.join()}))
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
