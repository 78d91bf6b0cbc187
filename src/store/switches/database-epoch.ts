import { STANS } from './stans.ts';

/**
 * Whether reservations of STANs may have been lost, and how many numbers are skipped then.
 *
 * A **failover** replaces the database by a standby, which begins a new timeline. The new primary has every reservation
 * that was confirmed if three things hold: each commit waited for a synchronous standby, the cluster promotes only such
 * standbys, and the new primary belongs to that cluster. Then nothing is skipped. The database itself cannot show the
 * second: an asynchronous standby has the same record. So the operator states it with the setting
 * `tapwire.promotes_only_synchronous` of the database, and `cluster_name` must be the same before and after. (Patroni sets it
 * to its scope, and promotes only synchronous standbys with `synchronous_mode`. A copy at another site has another scope.)
 * That commits wait is recorded before the first reservation that does (and before the first one that does not), because
 * only the database outlives all processes. The write-ahead log is a sequence: a standby that has this record has everything
 * before it.
 *
 * The record alone is no proof. Four observations show that reservations may be lost nevertheless:
 *
 * - A process remembers numbers that the database has not reserved, or a time that it has noted and the database has not.
 * - A recovery target is set.
 * - Processes write the time into this record every {@link SEEN_EVERY_MS}, so it shows what the database has received.
 *   A failover is seen soon after. A backup is older.
 * - **A pause without a stop.** A snapshot of the disk of a running database is the same database, but no process has written
 *   this time for a while, and none has noted that it stopped. A process that ran before the pause, and whose last note is
 *   there, shows that the database is no snapshot. A snapshot that was made after all gateways had stopped cannot be
 *   distinguished: the operator must mark it.
 *
 * **How many.** What can have been handed out and lost is what was reserved between the last received time and now.
 * A process reserves a block of 100 at a time, and only when it has used the one before, so the pace is that of the taps.
 * {@link LEAST} covers the blocks of all processes, their bursts, and clocks of two hosts that differ by seconds. A
 * terminal serves one customer after another. The messages of an acquirer can have the pace of the fastest load for
 * {@link BUSY_SECONDS}; a scope that kept {@link PER_SECOND} would need ten days' numbers in a day.
 *
 * **Too many.** If more than half of a day's numbers may be lost, no number is certain to be unused: the scope is held. It
 * has no further number until the last business date that can have begun is over, or until an operator names the last
 * number that the switch has received (`tapwire stan`). Only a restored backup is that old. After a pause alone nothing is
 * held, because all gateways may just have crashed: then at most half of the day's remaining numbers are skipped.
 */
export const SEEN_EVERY_MS = 5_000;
const LEAST = 10_000;
const TERMINAL_PER_SECOND = 2;
const BUSY_PER_SECOND = 1_000;
const BUSY_SECONDS = 60;
const PER_SECOND = 100;
/**
 * Several times what a failover takes with the timings of Patroni (45 s for a silent host) and a gateway to start. A
 * recovery from a backup takes longer, or has a target.
 */
const FAILOVER_WITHIN = '5 minutes';
/** Longer than the restart of a gateway. */
const PAUSE_SECONDS = 60;

/**
 * The latest business date that can have begun, in any time zone (the first is 14 hours ahead of UTC), at a switch that cuts
 * over in the evening before.
 */
const LAST_DATE = `(clock_timestamp() at time zone 'UTC' + interval '14 hours')::date + 1`;

/** Whether a COMMIT of this session waits until a standby has flushed it to its disk, and only such a standby is promoted. */
const IS_SYNCHRONOUS = `current_setting('synchronous_standby_names') <> '' and current_setting('synchronous_commit') in ('on', 'remote_apply')
    and current_setting('tapwire.promotes_only_synchronous', true) = 'on' and current_setting('cluster_name') <> ''`;

/** Of this database: the cluster, its timeline, the database in it; and whether a failover keeps every commit. */
export const THIS_EPOCH = `
  select concat_ws('/', system_identifier, left(pg_walfile_name(pg_current_wal_lsn()), 8), oid) as epoch,
    concat_ws('/', system_identifier, '%', oid) as any_timeline, coalesce(${IS_SYNCHRONOUS}, false) as is_synchronous
  from pg_control_system(), pg_database where datname = current_database()`;

const RECOVERY_TARGETS = `'recovery_target', 'recovery_target_lsn', 'recovery_target_name', 'recovery_target_time', 'recovery_target_xid'`;

/** A scope with a terminal is its acquirer and TID; without one, its acquirer. */
const SKIP = `${LEAST} + ceil(case when position(' ' in scope) > 0 then ${TERMINAL_PER_SECOND} * gap_seconds
  else ${BUSY_PER_SECOND} * least(gap_seconds, ${BUSY_SECONDS}) + ${PER_SECOND} * greatest(gap_seconds - ${BUSY_SECONDS}, 0) end)::bigint`;

/**
 * Records that a process is connected to this database. If reservations may have been lost, every scope skips numbers or
 * is held. Any number of processes may do this at once: the first one skips. Returns one row: the time that was noted, why
 * numbers were skipped (null if none were), in how many scopes, and those that are held.
 *
 * $1: whether a process remembers numbers that the database has not reserved. $2: the time that it noted last, if any.
 */
export const NOTE_EPOCH = `
with this as (${THIS_EPOCH}),
before as (select * from database_epoch where is_only for update),
change as (
  select this.*, coalesce(before.epoch <> this.epoch, true) as is_other, before.first_value,
    greatest(extract(epoch from clock_timestamp() - before.seen_at), 0)::float8 as unseen_seconds,
    before.is_synchronous and before.epoch like this.any_timeline and before.cluster = current_setting('cluster_name')
      and before.seen_at > clock_timestamp() - interval '${FAILOVER_WITHIN}'
      and not exists (select from pg_settings where name in (${RECOVERY_TARGETS}) and setting <> '') as is_complete,
    before.epoch is not null as has_before, before.gap_seconds, before.has_skipped, coalesce(before.is_at_rest, false) as is_at_rest,
    coalesce(before.seen_at < $2::text::timestamptz, false) as has_lost_note,
    coalesce(before.seen_at >= $2::text::timestamptz, false) as has_note,
    greatest(clock_timestamp(), before.seen_at) as seen_at
  from this left join before on true
),
cause as (
  select change.*, case
    when not has_before then null
    when is_other and ($1::boolean or has_lost_note or not is_complete) then 'replaced'
    when is_other then null
    when has_lost_note then 'restored'
    when not has_note and not is_at_rest and unseen_seconds > ${PAUSE_SECONDS} then 'unseen'
    when $1::boolean and not has_skipped then 'replaced'
    end as cause
  from change
),
decision as (
  select epoch, is_synchronous, first_value, seen_at, cause,
    case when is_other or cause in ('restored', 'unseen') then coalesce(unseen_seconds, 0) else gap_seconds end as gap_seconds,
    has_before and (cause is not null or not is_other and has_skipped) as has_skipped
  from cause
),
noted as (
  insert into database_epoch as e (epoch, is_synchronous, cluster, seen_at, gap_seconds, has_skipped, first_value)
  select epoch, is_synchronous, current_setting('cluster_name'), seen_at, gap_seconds, has_skipped,
    coalesce(first_value, 0) + case when cause is null then 0 else least((select ${SKIP} from (select '' as scope) as acquirer), ${STANS} / 2) end
  from decision
  on conflict (is_only) do update set epoch = excluded.epoch, is_synchronous = excluded.is_synchronous, cluster = excluded.cluster,
    seen_at = excluded.seen_at, gap_seconds = excluded.gap_seconds, has_skipped = excluded.has_skipped, first_value = excluded.first_value,
    is_at_rest = false
),
wanted as (
  select scope, ${SKIP} as skip, greatest(${STANS} - (next_value - day_first), 0) as remaining, cause
  from stan_blocks, decision where cause is not null
),
skipped as (
  update stan_blocks b
  set next_value = case when is_held then greatest(b.next_value, b.day_first + ${STANS}) else b.next_value + least(skip, remaining / 2) end,
    business_date = case when is_held then greatest(b.business_date, ${LAST_DATE}) else b.business_date end
  from (select wanted.*, cause <> 'unseen' and skip > ${STANS} / 2 as is_held from wanted) as wanted
  where wanted.scope = b.scope
  returning b.scope, is_held
)
select seen_at::text as "notedAt", cause, (select count(*)::integer from skipped) as scopes,
  array(select scope from skipped where is_held order by scope limit 20) as held
from decision`;

/** Records that a process stops in order. Others that continue take it back with their next note. */
export const NOTE_REST = 'update database_epoch set is_at_rest = true where is_only';
