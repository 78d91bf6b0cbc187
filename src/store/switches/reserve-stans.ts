import { OPEN_REVERSAL_STATES } from '../../payments/model/transaction.ts';
import { LATEST_DATE, THIS_EPOCH } from './database-epoch.ts';
import { STANS } from './stans.ts';

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

/** As in the table. */
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
  readonly owed: readonly string[];
  /** Numbers that the business date has used, including those of this block. */
  readonly used: number;
}

// An array instead of a join: the join of a plan that is kept from a time without reversals compares each number of the
// block with each reversal (0.4 s for 10,000 of them).
const OF_BLOCK = `array(
    select lpad((counter % ${STANS} + 1)::text, 6, '0') from generate_series(first, first + ${BLOCK_SIZE - 1}) as counter)`;

// Reserves nothing in a database that was not noted as it is or lacks the last note of this process, and nothing for a scope
// that is held or whose business date has no block left. A date that a wrong clock has set counts no longer than until that
// clock is right again. $2: whether the database was noted in this transaction. $3: the id of this process. $4: the time of
// its last note.
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
reserved as (
  insert into stan_blocks as b (scope, next_value, business_date, day_first)
  select scope, greatest(floor, first_value) + ${BLOCK_SIZE}, day, greatest(floor, first_value) from x, known
  where $2::boolean or not exists (select from lost)
  on conflict (scope) do update
  set next_value = greatest(b.next_value, (select floor from x where x.scope = b.scope)) + ${BLOCK_SIZE},
    day_first = case when excluded.business_date > least(b.business_date, ${LATEST_DATE})
      then greatest(b.next_value, (select floor from x where x.scope = b.scope)) else b.day_first end,
    business_date = greatest(least(b.business_date, ${LATEST_DATE}), excluded.business_date),
    held_until = null,
    reserved_at = clock_timestamp()
  where (b.held_until is null or excluded.business_date > b.held_until)
    and (excluded.business_date > least(b.business_date, ${LATEST_DATE})
      or greatest(b.next_value, (select floor from x where x.scope = b.scope)) + ${BLOCK_SIZE} - b.day_first <= (select most from x where x.scope = b.scope))
  returning scope, next_value - ${BLOCK_SIZE} as first, business_date, next_value - day_first as used
)
select x.scope, first, greatest(business_date, asked)::text as day, used, exists (select from known) as "isKnown",
  not $2::boolean and exists (select from lost where lost.scope = x.scope) as "isLost", array(
  select t.stan from transactions t
  where t.acquirer_id = x."acquirerId" and t.stan = any(${OF_BLOCK}) and t.reversal_state in (${OPEN_REVERSAL_STATES.join()}) and (x.tid is null or t.tid = x.tid)
  union all
  select s.stan from superseded_attempts s
  where s.acquirer_id = x."acquirerId" and s.stan = any(${OF_BLOCK}) and s.reversal_state in (${OPEN_REVERSAL_STATES.join()}) and (x.tid is null or s.tid = x.tid)
) as owed
from x left join reserved using (scope)`;
