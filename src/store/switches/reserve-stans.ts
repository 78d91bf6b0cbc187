import { FURTHEST_DAYS } from '../../kits/processor-kit/field-values.ts';
import { OPEN_REVERSAL_STATES } from '../../payments/model/transaction.ts';
import { STANS } from './business-dates.ts';
import { LATEST_DATE, THIS_EPOCH } from './database-epoch.ts';

/**
 * Numbers that a process reserves at once. A terminal rarely needs more in a minute, and a crash wastes no more than
 * these.
 */
export const BLOCK_SIZE = 100;
/** The scope in which a STAN is unique: a terminal of an acquirer, or all of its messages. */
export interface StanScope {
  readonly acquirerId: number;
  readonly tid: string | null;
}

/** A scope as the table names it. */
export function scopeText({ acquirerId, tid }: StanScope): string {
  return tid === null ? `${acquirerId}` : `${acquirerId} ${tid}`;
}

/** What a process needs for a scope. */
export interface Wanted extends StanScope {
  readonly scope: string;
  /** The business date. */
  readonly asked: string;
  /** The counter's minimum: the end of the numbers that this process has had. */
  readonly floor: number;
}

/** A block of a scope, or the reason why none was reserved. */
export interface Reserved {
  readonly scope: string;
  /** Null if nothing was reserved. */
  readonly first: number | null;
  /** Whether the database is the one that was noted, with the same kind of commits. */
  readonly isKnown: boolean;
  /** Whether the database has not reserved numbers that this process has had. */
  readonly isLost: boolean;
  readonly day: string;
  /** When the period begins in whose RRNs the numbers may be used. */
  readonly periodAtMs: number;
  readonly owed: readonly string[];
  /** Numbers that the business date has used, including those of this block. */
  readonly used: number;
}

// An array instead of a join: the join of a plan that is kept from a time without reversals compares each number of the
// block with each reversal (0.4 s for 10,000 of them).
const OF_BLOCK = `array(
    select lpad((counter % ${STANS} + 1)::text, 6, '0') from generate_series(first, first + ${BLOCK_SIZE - 1}) as counter)`;

/** The first number of the block, by the row as it is now: another process may have reserved in between. */
const FIRST = `greatest(b.next_value, (select floor from x where x.scope = b.scope), (select p.first from placed p where p.scope = b.scope))`;

/** The first counter value of the business date; a new date that finds no overlapping scope begins with this block. */
const DAY_FIRST = `coalesce((select p.first - (${STANS} - p.free) from placed p where p.scope = b.scope),
      case when excluded.business_date > least(b.business_date, ${LATEST_DATE}) then ${FIRST} else b.day_first end)`;

/**
 * An RRN is the hour and the STAN, so a number is used once in an hour, too: two business dates can share one. A process may
 * hold a block for long while others use up a business date. So a block counts for the RRNs of one period of the UTC day
 * only, and a period has each number once. With one hour, each process would waste most of a block in every hour.
 */
export const RRN_PERIOD_HOURS = 6;
const PERIOD = `date_bin('${RRN_PERIOD_HOURS} hours', clock_timestamp(), '2000-01-01 00:00Z')`;

/** A clock that was slightly ahead has begun a period early. A time of a clock that was wrong counts for nothing. */
const IS_IN_PERIOD = `b.hour_at between ${PERIOD} and ${PERIOD} + interval '1 day'`;

/** The first counter value of the period. A counter that was placed again has passed everything that was used. */
const HOUR_FIRST = `coalesce((select p.first - (${STANS} - p.free) from placed p where p.scope = b.scope),
      case when ${IS_IN_PERIOD} then b.hour_first else ${FIRST} end)`;

/** A terminal's scope in `stan_blocks` (as in its index). Network messages have scopes with longer names. */
const IS_TERMINAL = `length(o.scope) - position(' ' in o.scope) <= 8 and position(' ' in o.scope) > 0`;

/** The scopes whose messages a switch could mistake for those of `x`: a terminal and its acquirer as a whole. */
const OVERLAPPING = (columns: string, condition: string) => `
  select ${columns} from stan_blocks o
  where x.tid is null and ${IS_TERMINAL} and split_part(o.scope, ' ', 1) = x."acquirerId"::text and ${condition}
  union all
  select ${columns} from stan_blocks o
  where length(x.tid) <= 8 and o.scope = x."acquirerId"::text and ${condition}`;

/** A reservation is visible this long after its time: more than any transaction of a reservation lasts. */
const COMMITTED_WITHIN = '1 minute';

/**
 * Width of the range before and after the counter of another scope from which nothing is reserved. Ahead of that counter,
 * gateways that count by the previous configuration may still reserve numbers in the same minute. Behind it, the other scope
 * may have used numbers on the business date before, in the same quarter of the day.
 */
const AROUND = 10 * BLOCK_SIZE;

/** The numbers of a business date are used on this date, or on a later one of the calendar (business-dates.ts). */
const OLDEST_DATE = `x.day - ${FURTHEST_DAYS + 1}`;

// The counters of a terminal and of its acquirer as a whole know nothing of each other, and RRN and 127.2 contain the STAN
// without the terminal. So a counter whose overlapping scopes have reserved numbers since it was placed is placed again, at the
// beginning of the longest range without numbers of theirs or its own: `placed.first` is that counter value, `free` the length
// of the range. `day_first` is set such that the business date ends with the range. A scope that finds no range has no number
// until the next business date.
//
// Reserves nothing in a database that was not noted as it is or lacks the last note of this process, and nothing for a scope
// that is held or whose business date or period has no block left. A date that a wrong clock has set counts no longer than
// until that clock is right again. $2: whether the database was noted in this transaction. $3: the id of this process. $4: the
// time of its last note.
export const RESERVE = `
with x as (
  select *, least(asked, ${LATEST_DATE}) as day
  from json_to_recordset($1::text::json) as x(scope text, "acquirerId" integer, tid text, asked date, floor bigint, most bigint)
),
known as (
  select e.first_value from database_epoch e, (${THIS_EPOCH}) this
  where e.is_only and e.epoch = this.epoch and e.is_synchronous = this.is_synchronous
    and ($2::boolean or coalesce((e.running ->> $3::text)::numeric >= $4::numeric, false))
),
lost as (
  select x.scope from x left join stan_blocks b using (scope)
  where x.floor > coalesce(b.next_value, 0)
),
doubtful as (
  select x.*, greatest(coalesce(b.next_value, known.first_value), x.floor) as base
  from x cross join known left join stan_blocks b using (scope)
  where exists (${OVERLAPPING('1', `o.reserved_at > coalesce(b.clear_at, '-infinity') - interval '${COMMITTED_WITHIN}'`)})
),
taken as (
  select scope, mod(first, ${STANS}) as first, least(next - first, ${STANS}) as count
  from (
    select x.scope, used.* from doubtful x cross join lateral (
      ${OVERLAPPING(`greatest(least(case when o.business_date >= x.day then o.day_first end, o.next_value - ${AROUND}), 0) as first, o.next_value + ${AROUND} as next`, `o.business_date >= ${OLDEST_DATE}`)}
    ) as used
    union all
    select x.scope, case when o.business_date >= x.day then o.day_first else greatest(o.next_value - ${AROUND}, 0) end, o.next_value
    from doubtful x join stan_blocks o using (scope)
  ) as ranges
),
pieces as (
  select scope, first, least(first + count, ${STANS}) as next from taken
  union all
  select scope, 0, first + count - ${STANS} from taken where first + count > ${STANS}
),
ranges as (
  select scope, max(next) over before as first,
    coalesce(lead(first) over before, min(first) over (partition by scope) + ${STANS}) - max(next) over before as free
  from pieces window before as (partition by scope order by first, next)
),
placed as (
  select distinct on (scope) scope, free, base + mod(mod(ranges.first - base, ${STANS}) + ${STANS}, ${STANS}) as first
  from ranges join doubtful using (scope) order by scope, free desc
),
reserved as (
  insert into stan_blocks as b (scope, next_value, business_date, day_first, clear_at, hour_at, hour_first)
  select x.scope, f.first + ${BLOCK_SIZE}, day, coalesce(p.first - (${STANS} - p.free), f.first), clock_timestamp(),
    ${PERIOD}, coalesce(p.first - (${STANS} - p.free), f.first)
  from x cross join known left join placed p on p.scope = x.scope
    cross join lateral (select greatest(floor, first_value, p.first) as first) as f
  where ($2::boolean or not exists (select from lost))
    and (exists (select from stan_blocks b where b.scope = x.scope) or f.first + ${BLOCK_SIZE} - coalesce(p.first - (${STANS} - p.free), f.first) <= most)
  on conflict (scope) do update
  set next_value = ${FIRST} + ${BLOCK_SIZE},
    day_first = ${DAY_FIRST},
    hour_at = case when ${IS_IN_PERIOD} then b.hour_at else ${PERIOD} end,
    hour_first = ${HOUR_FIRST},
    business_date = greatest(least(b.business_date, ${LATEST_DATE}), excluded.business_date),
    held_until = null,
    reserved_at = clock_timestamp(),
    clear_at = case when exists (select from placed p where p.scope = b.scope) then clock_timestamp() else b.clear_at end
  where (b.held_until is null or excluded.business_date > b.held_until)
    and ${FIRST} + ${BLOCK_SIZE} - least(${DAY_FIRST}, ${HOUR_FIRST}) <= (select most from x where x.scope = b.scope)
  returning scope, next_value - ${BLOCK_SIZE} as first, business_date, next_value - day_first as used,
    (extract(epoch from hour_at) * 1000)::float8 as period_at_ms
)
select x.scope, first, greatest(business_date, asked)::text as day, used, period_at_ms as "periodAtMs", exists (select from known) as "isKnown",
  not $2::boolean and exists (select from lost where lost.scope = x.scope) as "isLost", array(
  select t.stan from transactions t
  where t.acquirer_id = x."acquirerId" and t.stan = any(${OF_BLOCK}) and t.reversal_state in (${OPEN_REVERSAL_STATES.join()}) and (x.tid is null or t.tid = x.tid)
  union all
  select s.stan from superseded_attempts s
  where s.acquirer_id = x."acquirerId" and s.stan = any(${OF_BLOCK}) and s.reversal_state in (${OPEN_REVERSAL_STATES.join()}) and (x.tid is null or s.tid = x.tid)
) as owed
from x left join reserved using (scope)`;
