import { FURTHEST_DAYS } from '../../kits/processor-kit/field-values.ts';
import { STANS } from './business-dates.ts';

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
 * - A process remembers numbers that the database has not reserved, or a note that the database has not.
 * - A recovery target is set.
 * - Processes write the time into this record every {@link SEEN_EVERY_MS}, so it shows what the database has received.
 *   A failover is seen soon after. A backup is older. A time in the future, of a clock that was wrong, shows nothing, and
 *   counts as a day.
 * - **A server that was restarted after a pause, in which gateways had not stopped.** A snapshot of the disk of a running
 *   database is the same database, but another server runs on it. If gateways stop in order, they leave the list of
 *   running processes: nothing is lost in a pause that begins with an empty list. A process that ran before the pause,
 *   and whose last note is there, shows that the database is no snapshot. A snapshot that was made after all gateways had
 *   stopped cannot be distinguished: the operator must state it (`tapwire restored`). The start of a gateway warns if none
 *   was connected for a while.
 *
 * **How many.** What can have been handed out and lost is what was reserved between the last received time and now.
 * A process reserves a block of 100 at a time, and only when it has used the one before, so the pace is that of the taps.
 * {@link LEAST} covers the blocks of all processes, their bursts, and clocks of two hosts that differ by seconds. A
 * terminal serves one customer after another. The messages of an acquirer can have the pace of the fastest load for
 * {@link BUSY_SECONDS}; a scope that kept {@link PER_SECOND} would need ten days' numbers in a day.
 *
 * A loss that is certain (`replaced`, `restored`) also begins the lost window, in which requests that could repeat lost
 * ones are held (payments/decisions/after-restore.ts), unless the operator has stated it before.
 *
 * **Too many.** If more than half of a day's numbers may be lost, no number is certain to be unused: the scope is held. It
 * has no further number until the last business date that can have begun is over, or until an operator names the last
 * number that the switch has received (`tapwire stan`). Only a restored backup is that old. After a pause alone nothing is
 * held, because host and gateways may just have lost their power: then at most half of the day's remaining numbers are
 * skipped.
 */
export const SEEN_EVERY_MS = 5_000;
export const LEAST = 10_000;
const TERMINAL_PER_SECOND = 2;
const BUSY_PER_SECOND = 1_000;
const BUSY_SECONDS = 60;
const PER_SECOND = 100;
/**
 * Several times what a failover takes with the timings of Patroni (45 s for a silent host) and a gateway to start. A
 * recovery from a backup takes longer, or has a target.
 */
const FAILOVER_WITHIN = '5 minutes';
/** Longer than the restart of a host on which both a gateway and its database run. */
const PAUSE_SECONDS = 60;
/** The pause that a time in the future stands for. Longer than a snapshot is usually kept before it is restored. */
const UNKNOWN_PAUSE_SECONDS = 86_400;
/** A process that has not noted the database for so long has crashed. What it reserved is in the database by now. */
const CRASHED_AFTER_SECONDS = 600;

/** The epoch of a database that an operator has stated to be restored: `tapwire restored`. */
export const STATED = 'restored';

/** The latest business date that can have begun: before a long weekend it is ahead of the calendar (business-dates.ts). */
const LAST_DATE = `((clock_timestamp() at time zone 'UTC')::date + ${FURTHEST_DAYS})`;
/** A later date comes from a clock that is wrong. */
export const LATEST_DATE = `((clock_timestamp() at time zone 'UTC')::date + ${FURTHEST_DAYS + 1})`;

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
 * is held. Any number of processes may do this at once: the first one skips. Returns one row: how many notes there are now,
 * the time of this one, why numbers were skipped (null if none were), in how many scopes, and those that are held.
 *
 * $1: whether a process remembers numbers that the database has not reserved. $2: how many notes there were after its last
 * one, if any. $3: its id. $4: the time of its last note, as it was returned. Other processes may have noted a restored
 * database as often as it had been noted before; the time of an own note shows that this one is missing.
 */
export const NOTE_EPOCH = `
with this as (${THIS_EPOCH}),
before as (
  select *, case when seen_at > clock_timestamp() + interval '${PAUSE_SECONDS} s' then ${UNKNOWN_PAUSE_SECONDS}
    else greatest(extract(epoch from clock_timestamp() - seen_at), 0) end::float8 as unseen_seconds
  from database_epoch where is_only for update
),
change as (
  select this.*, coalesce(before.epoch <> this.epoch, true) as is_other, before.epoch as former_epoch, before.first_value, before.unseen_seconds,
    before.is_synchronous and before.epoch like this.any_timeline and before.cluster = current_setting('cluster_name')
      and before.unseen_seconds < extract(epoch from interval '${FAILOVER_WITHIN}')
      and not exists (select from pg_settings where name in (${RECOVERY_TARGETS}) and setting <> '') as is_complete,
    before.epoch is not null as has_before, before.gap_seconds, before.has_skipped,
    before.running <> '{}' and before.server_started_at is distinct from pg_postmaster_start_time() as has_restarted,
    coalesce(before.notes < $2::bigint, false) or coalesce((before.running ->> $3::text)::numeric < $4::numeric, false) as has_lost_note,
    coalesce(before.notes >= $2::bigint, false) as has_note,
    coalesce(before.notes, 0) + 1 as notes,
    (select coalesce(jsonb_object_agg(key, value), '{}') from jsonb_each(before.running)
      where value::float8 > extract(epoch from clock_timestamp()) - ${CRASHED_AFTER_SECONDS})
      || jsonb_build_object($3::text, extract(epoch from clock_timestamp())) as running
  from this left join before on true
),
cause as (
  select change.*, case
    when not has_before then null
    when is_other and ($1::boolean or has_lost_note or not is_complete) then 'replaced'
    when is_other then null
    when has_lost_note then 'restored'
    when not has_note and has_restarted and unseen_seconds > ${PAUSE_SECONDS} then 'unseen'
    when $1::boolean and not has_skipped then 'replaced'
    end as cause
  from change
),
decision as (
  select epoch, is_synchronous, first_value, notes, running, cause,
    case when is_other or cause in ('restored', 'unseen') then coalesce(unseen_seconds, 0) else gap_seconds end as gap_seconds,
    has_before and (cause is not null or not is_other and has_skipped) as has_skipped
  from cause
),
began as (
  insert into lost_window as w (lost_from, lost_until, cause)
  select clock_timestamp() - greatest(cause.unseen_seconds, cause.gap_seconds * (not is_other)::integer) * interval '1 s', clock_timestamp(), cause
  from cause where cause in ('replaced', 'restored') and former_epoch <> '${STATED}'
  on conflict (is_only) do update set lost_from = least(w.lost_from, excluded.lost_from), lost_until = excluded.lost_until
),
noted as (
  insert into database_epoch as e (epoch, is_synchronous, cluster, seen_at, notes, running, server_started_at, gap_seconds, has_skipped, first_value)
  select epoch, is_synchronous, current_setting('cluster_name'), clock_timestamp(), notes, running, pg_postmaster_start_time(), gap_seconds, has_skipped,
    coalesce(first_value, 0) + case when cause is null then 0 else least((select ${SKIP} from (select '' as scope) as acquirer), ${STANS} / 2) end
  from decision
  on conflict (is_only) do update set epoch = excluded.epoch, is_synchronous = excluded.is_synchronous, cluster = excluded.cluster,
    seen_at = excluded.seen_at, notes = excluded.notes, running = excluded.running, server_started_at = excluded.server_started_at,
    gap_seconds = excluded.gap_seconds, has_skipped = excluded.has_skipped, first_value = excluded.first_value
),
wanted as (
  select scope, ${SKIP} as skip, greatest(${STANS} - (next_value - day_first), 0) as remaining, cause
  from stan_blocks, decision where cause is not null
),
skipped as (
  update stan_blocks b
  set next_value = b.next_value + case when is_held then 0 when cause = 'unseen' then least(skip, remaining / 2) else skip end,
    held_until = case when is_held then ${LAST_DATE} else b.held_until end
  from (select wanted.*, cause <> 'unseen' and skip > ${STANS} / 2 as is_held from wanted) as wanted
  where wanted.scope = b.scope
  returning b.scope, is_held
)
select notes::text, running ->> $3::text as "notedAt", cause, (select count(*)::integer from skipped) as scopes,
  array(select scope from skipped where is_held order by scope limit 20) as held
from decision`;

/** Records that a process, $1, stops in order and has no numbers left to use. */
export const NOTE_STOP = 'update database_epoch set running = running - $1::text where is_only';
