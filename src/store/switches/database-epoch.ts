import { STANS } from './stans.ts';

/**
 * Whether reservations of STANs may have been lost, and how many numbers are skipped then.
 *
 * A **failover** replaces the database by a standby, which begins a new timeline. If each commit waits for a synchronous
 * standby, and only such a standby is promoted (as by Patroni with `synchronous_mode`), the new primary has every
 * reservation that was confirmed, so nothing is skipped. That commits wait is recorded in the database itself, before
 * the first reservation that does (and before the first one that does not), because only the database outlives all
 * processes. The write-ahead log is a sequence: a standby that has this record has everything before it.
 *
 * The record cannot show that an operator promoted a standby that was no longer synchronous, or recovered the database to
 * an earlier time. Both have the timeline of a failover. Three observations show it:
 *
 * - A process remembers numbers that the database has not reserved. The reservation was confirmed, so it is lost.
 * - A recovery target is set.
 * - Processes write the time into this record every {@link SEEN_EVERY_MS}, so it shows what the database has received.
 *   A failover is seen soon after. A backup is older.
 *
 * **How many.** What can have been handed out and lost is what was reserved between the last received time and now.
 * A process reserves a block of 100 at a time, and only when it has used the one before, so the pace is that of the taps.
 * At {@link SKIPPED_PER_SECOND} a scope would use up the numbers of a day in 17 minutes, so none keeps that pace.
 * {@link LEAST_SKIPPED} covers the blocks of all processes, their bursts, and clocks of two hosts that differ by seconds.
 * At most half of the day's remaining numbers are skipped, so failovers alone never use them up: after ten asynchronous
 * ones, each seen within 10 s, four fifths of the day are left.
 */
export const SEEN_EVERY_MS = 5_000;
const LEAST_SKIPPED = 10_000;
const SKIPPED_PER_SECOND = 1_000;
/**
 * Several times what a failover takes with the timings of Patroni (45 s for a silent host) and a gateway to start. A
 * recovery from a backup takes longer, or has a target.
 */
const FAILOVER_WITHIN = '5 minutes';

/** Whether a COMMIT of this session waits until a standby has flushed it to its disk. */
const IS_SYNCHRONOUS = `current_setting('synchronous_standby_names') <> '' and current_setting('synchronous_commit') in ('on', 'remote_apply')`;

/** Of this database: the cluster, its timeline, the database in it; and whether commits wait. */
export const THIS_EPOCH = `
  select concat_ws('/', system_identifier, left(pg_walfile_name(pg_current_wal_lsn()), 8), oid) as epoch,
    concat_ws('/', system_identifier, '%', oid) as any_timeline, ${IS_SYNCHRONOUS} as is_synchronous
  from pg_control_system(), pg_database where datname = current_database()`;

const RECOVERY_TARGETS = `'recovery_target', 'recovery_target_lsn', 'recovery_target_name', 'recovery_target_time', 'recovery_target_xid'`;

/**
 * Records that a process is connected to this database, and skips numbers in every scope if reservations may have been
 * lost. Any number of processes may do this at once: the first one skips. Returns a row for each scope that has skipped.
 *
 * $1: whether a process remembers numbers that the database has not reserved.
 */
export const NOTE_EPOCH = `
with this as (${THIS_EPOCH}),
before as (select * from database_epoch where is_only for update),
change as (
  select this.*, coalesce(before.epoch <> this.epoch, true) as is_other, before.first_value,
    greatest(extract(epoch from clock_timestamp() - before.seen_at), 0) as unseen_seconds,
    before.is_synchronous and before.epoch like this.any_timeline
      and before.seen_at > clock_timestamp() - interval '${FAILOVER_WITHIN}'
      and not exists (select from pg_settings where name in (${RECOVERY_TARGETS}) and setting <> '') as is_complete,
    before.epoch is not null as has_before, before.gap_seconds, before.has_skipped
  from this left join before on true
),
decision as (
  select epoch, is_synchronous, first_value, is_other,
    case when is_other then coalesce(unseen_seconds, 0) else gap_seconds end as gap_seconds,
    case when not has_before then false
      when is_other then $1::boolean or not is_complete
      else $1::boolean and not has_skipped end as must_skip,
    has_before and not is_other and has_skipped as has_skipped
  from change
),
skipped as (
  select *, case when must_skip then ${LEAST_SKIPPED} + ceil(${SKIPPED_PER_SECOND} * gap_seconds)::bigint else 0 end as skip from decision
),
noted as (
  insert into database_epoch as e (epoch, is_synchronous, seen_at, gap_seconds, has_skipped, first_value)
  select epoch, is_synchronous, clock_timestamp(), gap_seconds, has_skipped or must_skip,
    coalesce(first_value, 0) + least(skip, ${STANS} / 2) from skipped
  on conflict (is_only) do update set epoch = excluded.epoch, is_synchronous = excluded.is_synchronous, seen_at = excluded.seen_at,
    gap_seconds = excluded.gap_seconds, has_skipped = excluded.has_skipped, first_value = excluded.first_value
)
update stan_blocks
set next_value = next_value + least(skip, greatest(${STANS} - (next_value - day_first), 0) / 2)
from skipped where must_skip`;
