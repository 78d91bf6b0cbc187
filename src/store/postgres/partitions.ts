import type pg from 'pg';
import { type ChangeResult, changeBriefly, sqlStateOf } from './change-briefly.ts';
import type { Database } from './open-database.ts';

/**
 * Tables that grow with every tap, partitioned by the UTC day of the insert. Rows past their retention time are removed by
 * dropping a partition, which takes milliseconds and leaves nothing to vacuum.
 */
export interface PartitionedTable {
  readonly name: string;
  /** What has the day: a column `day`, by the clock of the database, or the time in the `id`. */
  readonly key: 'day' | 'id';
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
  /** Storage parameters of a partition; they cannot be those of the whole table. */
  readonly storage?: string;
}

/**
 * Its months are never dropped by age: a month leaves when an operator archives it. Of its columns only the primary key has
 * the id, so a row of any month is found at the cost of one index.
 */
export const TRANSACTIONS: PartitionedTable = {
  name: 'transactions',
  key: 'id',
  period: 'month',
  aheadDays: 35,
  isAppendOnly: false,
  leastDays: Number.POSITIVE_INFINITY,
  storage: 'fillfactor = 45',
};

export const TRANSACTION_EVENTS: PartitionedTable = {
  name: 'transaction_events',
  key: 'day',
  period: 'month',
  aheadDays: 35,
  isAppendOnly: true,
  leastDays: 2_557,
};
export const ATTEMPT_MESSAGES: PartitionedTable = {
  name: 'attempt_messages',
  key: 'day',
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
const PARTITIONS = (key: PartitionedTable['key']) => `partitions as (
  select name, ${DAY_OF[key]('bounds[1]')} as first, ${DAY_OF[key]('bounds[2]')} as bound
  from (select relname::text as name, pg_get_expr(relpartbound, c.oid) as expression from pg_class c
    join pg_inherits on inhrelid = c.oid where inhparent = $1::regclass) as partition
  cross join lateral regexp_match(expression, 'FROM \\(''(.*)''\\) TO \\(''(.*)''\\)') as bounds where bounds is not null
)`;

/** The UTC day of a value of the key, and the least value of a day, as text. */
const DAY_OF = {
  day: (value: string) => `${value}::date`,
  id: (value: string) => `(time_of_id(${value}::uuid) at time zone 'UTC')::date`,
};
const FIRST_OF = {
  day: (day: string) => `to_char(${day}, 'YYYY-MM-DD')`,
  id: (day: string) => `first_id(${day}::timestamp at time zone 'UTC')::text`,
};

const TODAY = `(clock_timestamp() at time zone 'UTC')::date`;

/** $1: the table, $2: its period, $3: days ahead. Periods of which the table has no part as a partition. */
const MISSING = (key: PartitionedTable['key']) => `with ${PARTITIONS(key)},
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
  const { key } = table;
  const { rows: periods } = await database.query<Period>(
    `${MISSING(key)}, strays as materialized (select distinct ${DAY_OF[key](key)} as day from ${table.name}_default)
     select to_char(first, 'YYYYMMDD') as name, ${FIRST_OF[key]('first')} as "from", ${FIRST_OF[key]('bound')} as "to" from missing
     where not exists (select from strays where day >= first and day < bound) order by first`,
    [table.name, table.period, table.aheadDays],
  );
  const done: string[] = [];
  const postponed: string[] = [];
  let isTooLarge = false;
  for (const period of periods) {
    const name = `${table.name}_${period.name}`;
    // After a default partition that cannot be read in time, each further attempt would only make others wait.
    const end: ChangeResult | 'tooLarge' = isTooLarge
      ? 'tooLarge'
      : await attachPartition(database, table, { ...period, name }, true);
    isTooLarge = end === 'tooLarge';
    if (end === 'changed') done.push(name);
    else if (end !== 'needless') postponed.push(name);
  }
  return { done, postponed };
}

/** A partition: the name of its table, and its rows. */
export interface Period {
  readonly name: string;
  /** The least value of the key, and the least one that is beyond. */
  readonly from: string;
  readonly to: string;
}

/** Creates a table that a partition is made of, as long as it has no rows of its own. */
async function createPartitionTable(
  client: Pick<pg.ClientBase, 'query'>,
  { name: table, isAppendOnly, storage }: PartitionedTable,
  name: string,
): Promise<void> {
  await client.query(`create table ${name} (like ${table} including defaults including constraints including generated)
    ${storage === undefined ? '' : `with (${storage})`}`);
  if (isAppendOnly)
    await client.query(`create trigger ${name}_append_only before update or truncate on ${name}
      for each statement execute function refuse_change()`);
}

/**
 * Attaches a partition.
 *
 * @param isNew creates its table, unless that exists
 * @returns `needless` if a new one exists, or the default partition has rows of its period; `tooLarge` if the default
 * partition cannot be read in time
 */
export async function attachPartition(
  database: Database,
  table: PartitionedTable,
  { name, from, to }: Period,
  isNew = false,
): Promise<ChangeResult | 'tooLarge'> {
  const attach = async (client: pg.ClientBase) => {
    if (isNew && (await exists(client, name))) return 'needless';
    await client.query(`set local statement_timeout = ${READ_DEFAULT_MS}`);
    if (isNew) await createPartitionTable(client, table, name);
    await client.query(`alter table ${table.name} attach partition ${name} for values from ('${from}') to ('${to}')`);
    return 'changed';
  };
  try {
    return await changePartitions(database, table, [], attach);
  } catch (error) {
    if (sqlStateOf(error) === CHECK_VIOLATION) return 'needless';
    if (sqlStateOf(error) === QUERY_CANCELED) return 'tooLarge';
    throw error;
  }
}

/** Makes a partition a table of its own, which no statement of the gateway reads or changes. */
export function detachPartition(database: Database, table: PartitionedTable, name: string): Promise<ChangeResult> {
  return changePartitions(database, table, [name], async (client) => {
    await client.query(`alter table ${table.name} detach partition ${name}`);
    return 'changed';
  });
}

function changePartitions(
  database: Database,
  { name }: PartitionedTable,
  partitions: readonly string[],
  change: (client: pg.ClientBase) => Promise<'changed' | 'needless'>,
): Promise<ChangeResult> {
  return changeBriefly(
    database,
    { lock: [CHANGE_LOCK, name], tables: [name, `${name}_default`, ...partitions] },
    change,
  );
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
    const end = await changePartitions(database, table, [expired.name], async (client) => {
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
  { name, key }: PartitionedTable,
  days: number,
): Promise<Expired[]> {
  const { rows } = await database.query<Expired>(
    `with ${PARTITIONS(key)}, cutoff as (select ${TODAY} - ceil($2::float8)::integer as day)
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

/** What a purge that runs as planned leaves empty: partitions that it should have created or dropped. */
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
  days?: number,
): Promise<PartitionState> {
  const { name, key, period, aheadDays } = table;
  // The last one may be missing until the next purge.
  const { rows } = await database.query<Omit<PartitionState, 'expired'>>(
    `${MISSING(key)} select to_char(min(greatest(first, ${TODAY} + 1)), 'YYYY-MM-DD') as missing,
      exists (select from ${name}_default) as "hasStrayRows" from missing where bound > ${TODAY} + 1`,
    [name, period, aheadDays - 1],
  );
  const expired = days === undefined ? [] : await findExpired(database, table, days + 1);
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
