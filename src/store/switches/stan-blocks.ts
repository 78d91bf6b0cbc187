import { GroupCommit } from '../postgres/group-commit.ts';
import type { Database } from '../postgres/open-database.ts';

/** STANs run from 000001 to 999999 (ISO 8583:1987, DE11): so many are there for a scope's business day. */
const STANS = 999_999;
/** Numbers a process takes at once: a terminal rarely needs more in a minute, and a crash wastes no more than these. */
const BLOCK_SIZE = 100;
/** Scopes whose blocks a process holds; the least recently opened ones are given up beyond it, their numbers unused. */
const MAX_SCOPES = 50_000;
/** A standby that took over within a minute has lost seconds of reservations: more than any scope makes of them. */
const JUMP_AFTER_FAILOVER = 100_000;
/** A backup may be hours old: half of the numbers, so that the other half is not met before the next business day. */
const JUMP_AFTER_RESTORE = 500_000;

/** Within what a STAN is unique: a terminal of an acquirer's, or all of its messages. */
interface StanScope {
  readonly acquirerId: number;
  readonly tid: string | null;
}

/**
 * Systems trace audit numbers, unique in their scope and business day on any number of processes. A process takes them
 * from the database in blocks and never gives one back, so a crash loses numbers and repeats none.
 *
 * The counter of a scope runs on for ever, and the STAN is its remainder: nothing starts again at a cut-over. A business day
 * may use each number once; when they are used up there is none until the switch cuts over. A number that a reversal
 * still needs is left out.
 *
 * A restored backup or a standby that took over may not know the last reservations. Two things keep it from repeating
 * them: a process that lives on demands numbers above those it has had, and a database that is another than before (by
 * its system identifier, timeline and oid) makes every scope jump ahead.
 */
export class StanBlocks {
  readonly #reserve: GroupCommit<Wanted, Block | undefined>;
  readonly #blocks = new Map<string, Promise<Block | undefined>>();

  private constructor(database: Database) {
    this.#reserve = new GroupCommit<Wanted, Block | undefined>(database, {
      keyOf: ({ scope }) => scope,
      write: async (client, wanted) => {
        const values = [JSON.stringify(wanted)];
        const { rows } = await client.query<Reserved>({ name: 'reserve-stans', text: RESERVE, values });
        const reserved = new Map(rows.map((row) => [row.scope, row]));
        return wanted.map(({ scope }) => blockOf(reserved.get(scope)));
      },
    });
  }

  /** @param onJump told how many scopes have jumped ahead because the database is another than before */
  static async open(database: Database, onJump: (scopes: number) => void = () => {}): Promise<StanBlocks> {
    const { rowCount } = await database.query(JUMP);
    if (rowCount) onJump(rowCount);
    return new StanBlocks(database);
  }

  /**
   * Six digits; undefined when the scope has used up all numbers of its business day.
   *
   * @param day the business date, `2026-11-20`
   * @throws StoreUnavailable when a new block is needed and the database is away
   */
  async next({ acquirerId, tid }: StanScope, day: string): Promise<string | undefined> {
    const scope = tid === null ? `${acquirerId}` : `${acquirerId} ${tid}`;
    let floor = 0;
    for (;;) {
      const opening = this.#blocks.get(scope) ?? this.#openBlock({ scope, acquirerId, tid, day, floor });
      const block = await opening;
      const stan = block && block.day >= day ? block.stans.pop() : undefined;
      if (stan !== undefined) return stan;
      if (this.#blocks.get(scope) === opening) this.#blocks.delete(scope);
      if (block === undefined) return undefined;
      floor = block.end;
    }
  }

  #openBlock(wanted: Wanted): Promise<Block | undefined> {
    if (this.#blocks.size >= MAX_SCOPES) this.#blocks.delete(this.#blocks.keys().next().value!);
    const opening = this.#reserve.submit(wanted);
    this.#blocks.set(wanted.scope, opening);
    opening.catch(() => this.#blocks.delete(wanted.scope));
    return opening;
  }
}

interface Wanted extends StanScope {
  readonly scope: string;
  readonly day: string;
  /** The counter's least value: the end of what this process has had. */
  readonly floor: number;
}

interface Reserved {
  readonly scope: string;
  readonly first: number;
  readonly day: string;
  readonly owed: readonly string[];
}

/** Numbers that this process alone may use, on this business day. */
interface Block {
  readonly day: string;
  /** What the counter was set to. */
  readonly end: number;
  /** Those that are left, the next one last. */
  readonly stans: string[];
}

function blockOf(reserved: Reserved | undefined): Block | undefined {
  if (reserved === undefined) return undefined;
  const { first, day, owed } = reserved;
  const end = first + BLOCK_SIZE;
  const stans: string[] = [];
  for (let counter = end - 1; counter >= first; counter--) {
    const stan = String((counter % STANS) + 1).padStart(6, '0');
    if (!owed.includes(stan)) stans.push(stan);
  }
  return { day, end, stans };
}

// No row comes back for a scope whose business day has no block left.
const RESERVE = `
with x as (select * from json_to_recordset($1::text::json) as x(scope text, "acquirerId" integer, tid text, day date, floor bigint)),
reserved as (
  insert into stan_blocks as b (scope, next_value, business_date, day_first)
  select scope, floor + ${BLOCK_SIZE}, day, floor from x
  on conflict (scope) do update
  set next_value = greatest(b.next_value, excluded.day_first) + ${BLOCK_SIZE},
    day_first = case when excluded.business_date > b.business_date
      then greatest(b.next_value, excluded.day_first) else b.day_first end,
    business_date = greatest(b.business_date, excluded.business_date),
    reserved_at = clock_timestamp()
  where excluded.business_date > b.business_date
    or greatest(b.next_value, excluded.day_first) + ${BLOCK_SIZE} - b.day_first <= ${STANS}
  returning scope, next_value - ${BLOCK_SIZE} as first, business_date
)
select scope, first, business_date::text as day, array(
  select t.stan from generate_series(first, first + ${BLOCK_SIZE - 1}) as counter
  join transactions t on t.acquirer_id = x."acquirerId" and t.stan = lpad((counter % ${STANS} + 1)::text, 6, '0')
  where t.reversal_state in (1, 2, 4, 5) and (x.tid is null or t.tid = x.tid)
) as owed
from reserved join x using (scope)`;

const JUMP = `
with noted as (
  insert into database_epoch (epoch)
  select concat_ws('/', system_identifier, left(pg_walfile_name(pg_current_wal_lsn()), 8), oid)
  from pg_control_system(), pg_database where datname = current_database()
  on conflict (is_only) do update set epoch = excluded.epoch where database_epoch.epoch <> excluded.epoch
  returning epoch
),
newest as (select max(reserved_at) as at from stan_blocks)
update stan_blocks
set next_value = next_value + case when newest.at > clock_timestamp() - interval '1 minute'
  then ${JUMP_AFTER_FAILOVER} else ${JUMP_AFTER_RESTORE} end
from newest
where exists (select from noted) and exists (select from database_epoch)`;
