import { setTimeout as sleep } from 'node:timers/promises';
import type pg from 'pg';
import { inTransaction } from './group-commit.ts';
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
 * The day of all rows from before the table was partitioned: they are one partition, and a search by day includes it.
 */
export const PAST_DAY = '2000-01-01';

/** Statements of taps queue behind a statement that waits for its lock, so none waits longer. */
const LOCK_MS = 100;
const MAX_TRIES = 10;
const TRY_AGAIN_MS = 200;
/** Behind an older transaction a lock would wait in vain: its reader is a report or a dump. */
const LONG_READ_SECONDS = 2;

/** A partition; the one for all other rows has no days. */
interface Partition {
  readonly name: string;
  /** YYYY-MM-DD; null without a lower bound. */
  readonly from: string | null;
  /** The first day that is not in it. */
  readonly to: string | null;
  readonly isDefault: boolean;
}

const PARTITIONS = `
select name, bounds[1] as "from", bounds[2] as "to", expression = 'DEFAULT' as "isDefault"
from (select relname as name, pg_get_expr(relpartbound, c.oid) as expression from pg_class c
  join pg_inherits on inhrelid = c.oid where inhparent = $1::regclass) as partition
left join lateral regexp_match(expression, 'FROM \\((?:MINVALUE|''(.*)'')\\) TO \\(''(.*)''\\)') as bounds on true
order by "from" nulls first`;

async function findPartitions(
  database: Pick<Database, 'query'>,
  { name }: Pick<PartitionedTable, 'name'>,
): Promise<Partition[]> {
  return (await database.query<Partition>(PARTITIONS, [name])).rows;
}

const PERIODS = `
select begun::date::text as "from", (begun + $1::interval)::date::text as "to"
from (select (clock_timestamp() at time zone 'UTC')::date as today) as now,
  generate_series(date_trunc($2, today::timestamp), today + $3::integer, $1::interval) as begun`;

/** Names of partitions. */
export interface PartitionChanges {
  readonly done: readonly string[];
  /** Not possible yet, because others held locks. */
  readonly postponed: readonly string[];
}

/**
 * Creates the partitions of the next days. Rows without a partition go to the default partition, so that an insert never
 * fails for lack of one. A period of which the default partition already has rows stays there.
 */
export async function makePartitions(database: Database, table: PartitionedTable): Promise<PartitionChanges> {
  const existing = await findPartitions(database, table);
  const { rows: periods } = await database.query<{ from: string; to: string }>(PERIODS, [
    `1 ${table.period}`,
    table.period,
    table.aheadDays,
  ]);
  const last = existing.reduce((latest, { to }) => (to !== null && to > latest ? to : latest), PAST_DAY);
  const missing = periods.filter(({ from }) => from >= last);
  const done: string[] = [];
  const postponed: string[] = [];
  const reserve = new ReservedDays(database, table);
  await reserve.release();
  try {
    for (const { from, to } of missing) {
      if (!(await reserve.isFree(from))) continue;
      const name = `${table.name}_${from.replaceAll('-', '')}`;
      const isMade = await makePartition(database, table, { name, from, to });
      (isMade ? done : postponed).push(name);
    }
  } finally {
    await reserve.release();
  }
  return { done, postponed };
}

function makePartition(
  database: Database,
  { name: table, isAppendOnly }: PartitionedTable,
  { name, from, to }: { readonly name: string; readonly from: string; readonly to: string },
): Promise<boolean> {
  return tryWithLock(database, [table, `${table}_default`], async (client) => {
    await client.query(`create table ${name} (like ${table} including defaults including constraints)`);
    if (isAppendOnly)
      await client.query(`create trigger ${name}_append_only before update or truncate on ${name}
        for each statement execute function refuse_change()`);
    await client.query(`alter table ${table} attach partition ${name} for values from ('${from}') to ('${to}')`);
  });
}

/**
 * The rows of a partition must not be in the default partition, which is locked and read when one is attached. It has rows
 * only if no partitions were made for days. Then a constraint is validated first, while taps go on.
 */
class ReservedDays {
  readonly #database: Database;
  readonly #table: string;
  readonly #name: string;
  #isReserved = false;

  constructor(database: Database, { name }: PartitionedTable) {
    this.#database = database;
    this.#table = `${name}_default`;
    this.#name = `${name}_default_before`;
  }

  /** Whether the default partition has no rows from this day on, and gets none until `release`. */
  async isFree(day: string): Promise<boolean> {
    if (this.#isReserved) return true;
    const { rows } = await this.#database.query<{ isEmpty: boolean; isSoon: boolean }>(
      `select not exists (select from ${this.#table}) as "isEmpty",
        $1::date <= (clock_timestamp() at time zone 'UTC')::date + 1 as "isSoon"`,
      [day],
    );
    if (rows[0]!.isEmpty) return true;
    // After a crash, the constraint would refuse rows from that day on, so there is a day to remove it.
    if (rows[0]!.isSoon) return false;
    const constrain = `alter table ${this.#table} add constraint ${this.#name} check (day < '${day}') not valid`;
    this.#isReserved = await tryWithLock(this.#database, [this.#table], (client) => client.query(constrain));
    if (this.#isReserved) await this.#database.query(`alter table ${this.#table} validate constraint ${this.#name}`);
    return this.#isReserved;
  }

  async release(): Promise<void> {
    const { rowCount } = await this.#database.query('select from pg_constraint where conname = $1', [this.#name]);
    const drop = `alter table ${this.#table} drop constraint ${this.#name}`;
    // If others hold locks on it, the next run drops it: its day is at least a day ahead.
    if (rowCount !== 0) await tryWithLock(this.#database, [this.#table], (client) => client.query(drop));
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
  const { rows } = await database.query<{ cutoff: string }>(
    `select ((clock_timestamp() at time zone 'UTC')::date - ceil($1::float8)::integer)::text as cutoff`,
    [days],
  );
  const { cutoff } = rows[0]!;
  const done: string[] = [];
  const postponed: string[] = [];
  for (const partition of await findPartitions(database, table)) {
    const end = endOf(partition);
    if (end === undefined || end > cutoff) continue;
    const drop = (client: pg.ClientBase) => client.query(`drop table ${partition.name}`);
    const isDropped = await tryWithLock(database, [table.name, `${table.name}_default`, partition.name], drop);
    (isDropped ? done : postponed).push(partition.name);
  }
  return { done, postponed };
}

/** Whether tomorrow has a partition, and whether the default partition has rows. */
export async function partitionState(
  database: Pick<Database, 'query'>,
  { name }: PartitionedTable,
): Promise<{ readonly isReady: boolean; readonly hasStrayRows: boolean }> {
  const { rows } = await database.query<{ tomorrow: string; hasStrayRows: boolean }>(
    `select ((clock_timestamp() at time zone 'UTC')::date + 1)::text as tomorrow,
      exists (select from ${name}_default) as "hasStrayRows"`,
  );
  const { tomorrow, hasStrayRows } = rows[0]!;
  const partitions = await findPartitions(database, { name });
  return { isReady: partitions.some(({ to }) => to !== null && to > tomorrow), hasStrayRows };
}

/** The partitions that have rows of many days, which are deleted one by one: of the past, and of rows without a partition. */
export async function mixedPartitions(database: Database, table: PartitionedTable): Promise<string[]> {
  const partitions = await findPartitions(database, table);
  return partitions.filter(({ from }) => from === null).map(({ name }) => name);
}

const BEFORE = /_before_(\d{4})(\d\d)(\d\d)$/;

/** The first day of which it has no row; that of the past has one day for all of its rows, and the real one in its name. */
function endOf({ name, to, isDefault }: Partition): string | undefined {
  if (isDefault) return undefined;
  return BEFORE.exec(name)?.slice(1).join('-') ?? to ?? undefined;
}

/** Changes tables that taps use. @returns false if others held locks on them for too long; then nothing was changed */
async function tryWithLock(
  database: Database,
  tables: readonly string[],
  change: (client: pg.ClientBase) => Promise<unknown>,
): Promise<boolean> {
  for (let tries = 1; tries <= MAX_TRIES; tries++) {
    if (await areReadForLong(database, tables)) return false;
    try {
      await inTransaction(database, async (client) => {
        await client.query(`set local lock_timeout = ${LOCK_MS}`);
        await change(client);
      });
      return true;
    } catch (error) {
      if (!isLockTimeout(error)) throw error;
    }
    await sleep(TRY_AGAIN_MS);
  }
  return false;
}

async function areReadForLong(database: Database, tables: readonly string[]): Promise<boolean> {
  const { rowCount } = await database.query(
    `select from pg_locks l join pg_stat_activity a on a.pid = l.pid
     where l.relation = any($1::regclass[]) and l.granted and a.xact_start < clock_timestamp() - $2 * interval '1 s' limit 1`,
    [tables, LONG_READ_SECONDS],
  );
  return rowCount !== 0;
}

/** lock_not_available, as `inTransaction` reports it. */
function isLockTimeout(error: unknown): boolean {
  const cause = error instanceof Error ? (error.cause ?? error) : error;
  return (cause as { code?: unknown }).code === '55P03';
}

/**
 * The condition that a row was inserted on the day of this time or later. A node's clock may be ahead by minutes, so the
 * day before is included. Partitions of earlier days are excluded when the statement is planned, and not even locked.
 *
 * @param time a parameter of type timestamptz
 */
export const fromDay = (time: string) =>
  `(day = '${PAST_DAY}' or day >= (${time} at time zone 'UTC')::date - 1 and day <= (now() at time zone 'UTC')::date)`;
