import type pg from 'pg';
import { type ChangeResult, changeBriefly, sqlStateOf } from './change-briefly.ts';
import type { Database } from './open-database.ts';

/**
 * Tables that grow with every tap, partitioned by the UTC day of the insert (column `day`, by the clock of the
 * database). Rows past their retention time are removed by dropping a partition, which takes milliseconds and leaves
 * nothing to vacuum.
 */
export interface PartitionedTable {
  readonly name: string;
  /**
   * The audit trail is kept for seven years. A query that cannot exclude partitions, such as `verify-ledger`, locks each
   * of them with its indexes: 84 months are few, 2,557 days would fill the lock table of a server with its usual settings.
   */
  readonly period: 'day' | 'month';
  /** Partitions that end after this many days exist in advance, so that workers may be stopped for as long. */
  readonly aheadDays: number;
  /** Whether the database refuses changes of its rows. */
  readonly isAppendOnly: boolean;
  /** No partition with a younger row is dropped, with any settings. */
  readonly leastDays: number;
}

export const TRANSACTION_EVENTS: PartitionedTable = {
  name: 'transaction_events',
  period: 'month',
  aheadDays: 35,
  isAppendOnly: true,
  leastDays: 2_557,
};
export const ATTEMPT_MESSAGES: PartitionedTable = {
  name: 'attempt_messages',
  period: 'day',
  aheadDays: 7,
  isAppendOnly: false,
  leastDays: 0,
};

/**
 * The default partition is locked and read when another one is attached, because no row may belong to both. It has rows
 * only if no partitions were made for days. Statements of taps wait for so long at most, which is less than they may
 * (session-limits.ts).
 */
const READ_DEFAULT_MS = 2_000;
/** SQLSTATEs of a statement that met its time limit, and of a row that belongs to two partitions. */
const QUERY_CANCELED = '57014';
const CHECK_VIOLATION = '23514';
/** First key of the advisory locks under which a table's partitions change; the second key is the table. */
const CHANGE_LOCK = 7_404_001;

/**
 * A partition has rows from `first` on and before `bound`; the default partition is not among them. Days are compared as
 * dates and never as text, whose order depends on the session's DateStyle.
 */
const PARTITIONS = `partitions as (
  select name, bounds[1]::date as first, bounds[2]::date as bound
  from (select relname::text as name, pg_get_expr(relpartbound, c.oid) as expression from pg_class c
    join pg_inherits on inhrelid = c.oid where inhparent = $1::regclass) as partition
  cross join lateral regexp_match(expression, 'FROM \\(''(.*)''\\) TO \\(''(.*)''\\)') as bounds where bounds is not null
)`;

const TODAY = `(clock_timestamp() at time zone 'UTC')::date`;

/** $1: the table, $2: its period, $3: days ahead. Periods of which the table has no part as a partition. */
const MISSING = `with ${PARTITIONS},
periods as (
  select begun::date as first, (begun + ('1 ' || $2)::interval)::date as bound
  from generate_series(date_trunc($2, ${TODAY}::timestamp), ${TODAY} + $3::integer, ('1 ' || $2)::interval) as begun
),
missing as (
  select * from periods where not exists (
    select from partitions p where p.first < periods.bound and p.bound > periods.first)
)`;

/** Names of partitions. */
export interface PartitionChanges {
  readonly done: readonly string[];
  /** Not possible yet, because others held locks, or the default partition has too many rows. */
  readonly postponed: readonly string[];
}

/**
 * Creates the partitions of the next days. Rows without a partition go to the default partition, so that an insert never
 * fails for lack of one. A period of which the default partition already has rows stays there.
 *
 * Each partition is attached in one transaction, without a constraint on the default partition that would save the
 * reading: one that remains after a crash would refuse the rows of later days.
 */
export async function makePartitions(database: Database, table: PartitionedTable): Promise<PartitionChanges> {
  const { rows: periods } = await database.query<{ from: string; to: string }>(
    `${MISSING}, strays as materialized (select distinct day from ${table.name}_default)
     select to_char(first, 'YYYY-MM-DD') as "from", to_char(bound, 'YYYY-MM-DD') as "to" from missing
     where not exists (select from strays where day >= first and day < bound) order by first`,
    [table.name, table.period, table.aheadDays],
  );
  const done: string[] = [];
  const postponed: string[] = [];
  let isTooLarge = false;
  for (const { from, to } of periods) {
    const name = `${table.name}_${from.replaceAll('-', '')}`;
    // After a default partition that cannot be read in time, each further attempt would only make others wait.
    const end: ChangeResult | 'tooLarge' = isTooLarge
      ? 'tooLarge'
      : await makePartition(database, table, { name, from, to });
    isTooLarge = end === 'tooLarge';
    if (end === 'changed') done.push(name);
    else if (end !== 'needless') postponed.push(name);
  }
  return { done, postponed };
}

async function makePartition(
  database: Database,
  { name: table, isAppendOnly }: PartitionedTable,
  { name, from, to }: { readonly name: string; readonly from: string; readonly to: string },
): Promise<ChangeResult | 'tooLarge'> {
  const make = async (client: pg.ClientBase) => {
    if (await exists(client, name)) return 'needless';
    await client.query(`set local statement_timeout = ${READ_DEFAULT_MS}`);
    await client.query(`create table ${name} (like ${table} including defaults including constraints)`);
    if (isAppendOnly)
      await client.query(`create trigger ${name}_append_only before update or truncate on ${name}
        for each statement execute function refuse_change()`);
    await client.query(`alter table ${table} attach partition ${name} for values from ('${from}') to ('${to}')`);
    return 'changed';
  };
  try {
    return await changeBriefly(database, { lock: [CHANGE_LOCK, table], tables: [table, `${table}_default`] }, make);
  } catch (error) {
    if (sqlStateOf(error) === CHECK_VIOLATION) return 'needless'; // the default partition got such a row meanwhile
    if (sqlStateOf(error) === QUERY_CANCELED) return 'tooLarge';
    throw error;
  }
}

/**
 * Drops the partitions in which every row is older than its retention time. A partition is dropped whole, so a row may
 * stay for one period more.
 */
export async function dropPartitions(
  database: Database,
  table: PartitionedTable,
  days: number,
): Promise<PartitionChanges> {
  if (days < table.leastDays) throw new Error(`${table.name} is append-only for ${table.leastDays} days`);
  const done: string[] = [];
  const postponed: string[] = [];
  for (const expired of await findExpired(database, table, days)) {
    const tables = [table.name, `${table.name}_default`, expired.name];
    const end = await changeBriefly(database, { lock: [CHANGE_LOCK, table.name], tables }, async (client) => {
      if (!(await exists(client, expired.name))) return 'needless';
      await refuseYounger(client, expired);
      await client.query(`drop table ${expired.name}`);
      return 'changed';
    });
    if (end === 'changed') done.push(expired.name);
    else if (end === 'postponed') postponed.push(expired.name);
  }
  return { done, postponed };
}

interface Expired {
  readonly name: string;
  /** YYYY-MM-DD: this and all later days are within the retention time. */
  readonly cutoff: string;
}

/** The partitions in which every row is older, from the oldest on. */
async function findExpired(
  database: Pick<Database, 'query'>,
  { name }: PartitionedTable,
  days: number,
): Promise<Expired[]> {
  const { rows } = await database.query<Expired>(
    `with ${PARTITIONS}, cutoff as (select ${TODAY} - ceil($2::float8)::integer as day)
     select name, to_char(day, 'YYYY-MM-DD') as cutoff from partitions, cutoff where bound <= day order by bound`,
    [name, days],
  );
  return rows;
}

/**
 * The last line of defence: the database itself must find no row within the retention time. The bounds of a partition
 * prove that to its planner, which then reads nothing; if they do not, it reads the rows.
 */
async function refuseYounger(client: pg.ClientBase, { name, cutoff }: Expired): Promise<void> {
  await client.query('set local constraint_exclusion = on');
  const { rowCount } = await client.query(`select from ${name} where day >= date '${cutoff}' limit 1`);
  if (rowCount !== 0) throw new Error(`${name} has younger rows than ${cutoff} and was not dropped`);
}

/** Read from the catalog: `to_regclass` may respond from a cache that has not noticed what another process just dropped. */
async function exists(client: pg.ClientBase, name: string): Promise<boolean> {
  const text = 'select from pg_class where relname = $1 and relnamespace = current_schema()::regnamespace';
  const { rowCount } = await client.query(text, [name]);
  return rowCount !== 0;
}

/** What a purge has not done, and would have, unless something prevented it. */
export interface PartitionState {
  /** The first day from tomorrow on without a partition. */
  readonly missing: string | null;
  /** Whether the default partition has rows. */
  readonly hasStrayRows: boolean;
  /** The names of partitions past their retention time by a day and more. */
  readonly expired: readonly string[];
}

export async function partitionState(
  database: Pick<Database, 'query'>,
  table: PartitionedTable,
  days: number,
): Promise<PartitionState> {
  const { name, period, aheadDays } = table;
  // The last one may be missing until the next purge.
  const { rows } = await database.query<Omit<PartitionState, 'expired'>>(
    `${MISSING} select to_char(min(greatest(first, ${TODAY} + 1)), 'YYYY-MM-DD') as missing,
      exists (select from ${name}_default) as "hasStrayRows" from missing where bound > ${TODAY} + 1`,
    [name, period, aheadDays - 1],
  );
  const expired = await findExpired(database, table, days + 1);
  return { ...rows[0]!, expired: expired.map((each) => each.name) };
}

/**
 * The condition that a row was inserted on the day of this time or later. A node's clock may be ahead by minutes, so the
 * day before is included. Partitions of earlier days are excluded when the statement is planned, and not even locked.
 * There is no last day: the clock of the database may have been set back since.
 *
 * @param time a parameter of type timestamptz
 */
export const fromDay = (time: string) => `day >= (${time} at time zone 'UTC')::date - 1`;
