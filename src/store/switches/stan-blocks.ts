import { OPEN_REVERSAL_STATES } from '../../transactions/model/transaction.ts';
import { GroupCommit } from '../postgres/group-commit.ts';
import type { Database } from '../postgres/open-database.ts';

/** STANs run from 000001 to 999999 (ISO 8583:1987, DE11): so many are there for a scope's business day. */
export const STANS = 999_999;
/** An operator is called while a tenth is left: at a steady rate that is more than two hours before the numbers run out. */
export const FEW_STANS = 100_000;
/** Scopes of which a process remembers that few are left. Beyond it they are told once more. */
const MAX_REPORTED = 1_000;
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
  readonly #tell: StanTelling;
  readonly #reported = new Set<string>();
  readonly #reserve: GroupCommit<Wanted, Block | undefined>;
  readonly #blocks = new Map<string, Promise<Block | undefined>>();

  private constructor(database: Database, tell: StanTelling) {
    this.#tell = tell;
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

  /**
   * @param onJump called with how many scopes have jumped ahead because the database is another than before
   * @param onFew called once for a scope and business day when fewer than `FEW_STANS` are left, and once when none is
   */
  static async open(
    database: Database,
    onJump: (scopes: number) => void = () => {},
    onFew: StanTelling = () => {},
  ): Promise<StanBlocks> {
    const { rowCount } = await database.query(JUMP);
    if (rowCount) onJump(rowCount);
    return new StanBlocks(database, onFew);
  }

  /**
   * Six digits; undefined when the scope has used up all numbers of its business day.
   *
   * @param day the business date, `2026-11-20`
   * @param leaving how many of the day's numbers must stay for others
   * @throws StoreUnavailable when a new block is needed and the database is away
   */
  async next({ acquirerId, tid }: StanScope, day: string, leaving = 0): Promise<string | undefined> {
    const scope = tid === null ? `${acquirerId}` : `${acquirerId} ${tid}`;
    // Each class of callers has blocks of its own: what was reserved for one must not go to another.
    const key = `${leaving} ${scope}`;
    let floor = 0;
    for (;;) {
      const wanted = { scope, acquirerId, tid, day, floor, most: STANS - leaving };
      const opening = this.#blocks.get(key) ?? this.#openBlock(key, wanted);
      const block = await opening;
      const stan = block && block.day >= day ? block.stans.pop() : undefined;
      if (stan !== undefined) return stan;
      if (this.#blocks.get(key) === opening) this.#blocks.delete(key);
      if (block === undefined) {
        this.#tellOnce({ acquirerId, tid }, day, 0);
        return undefined;
      }
      floor = block.end;
    }
  }

  #openBlock(key: string, wanted: Wanted): Promise<Block | undefined> {
    if (this.#blocks.size >= MAX_SCOPES) this.#blocks.delete(this.#blocks.keys().next().value!);
    const opening = this.#reserve.submit(wanted);
    this.#blocks.set(key, opening);
    opening.then(
      (block) => block && block.left < FEW_STANS && this.#tellOnce(wanted, block.day, block.left),
      () => this.#blocks.delete(key),
    );
    return opening;
  }

  #tellOnce({ acquirerId, tid }: StanScope, day: string, left: number): void {
    const about = `${acquirerId} ${tid} ${day} ${left === 0}`;
    if (this.#reported.has(about)) return;
    if (this.#reported.size >= MAX_REPORTED) this.#reported.clear();
    this.#reported.add(about);
    this.#tell({ acquirerId, tid }, left);
  }
}

/** Called with the scope and how many numbers of its business day are left. */
export type StanTelling = (scope: StanScope, left: number) => void;

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
  /** Numbers that the business day has used, those of this block among them. */
  readonly used: number;
}

/** Numbers that this process alone may use, on this business day. */
interface Block {
  readonly day: string;
  /** What the counter was set to. */
  readonly end: number;
  /** Those that are left, the next one last. */
  readonly stans: string[];
  /** Numbers of the business day that no block has taken yet. */
  readonly left: number;
}

function blockOf(reserved: Reserved | undefined): Block | undefined {
  if (reserved === undefined) return undefined;
  const { first, day, owed, used } = reserved;
  const end = first + BLOCK_SIZE;
  const stans: string[] = [];
  for (let counter = end - 1; counter >= first; counter--) {
    const stan = String((counter % STANS) + 1).padStart(6, '0');
    if (!owed.includes(stan)) stans.push(stan);
  }
  return { day, end, stans, left: Math.max(STANS - used, 0) };
}

// No row comes back for a scope whose business day has no block left.
const RESERVE = `
with x as (select * from json_to_recordset($1::text::json) as x(scope text, "acquirerId" integer, tid text, day date, floor bigint, most bigint)),
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
    or greatest(b.next_value, excluded.day_first) + ${BLOCK_SIZE} - b.day_first <= (select most from x where x.scope = b.scope)
  returning scope, next_value - ${BLOCK_SIZE} as first, business_date, next_value - day_first as used
)
select scope, first, business_date::text as day, used, array(
  select t.stan from generate_series(first, first + ${BLOCK_SIZE - 1}) as counter
  join transactions t on t.acquirer_id = x."acquirerId" and t.stan = lpad((counter % ${STANS} + 1)::text, 6, '0')
  where t.reversal_state in (${OPEN_REVERSAL_STATES.join()}) and (x.tid is null or t.tid = x.tid)
  union all
  select s.stan from generate_series(first, first + ${BLOCK_SIZE - 1}) as counter
  join superseded_attempts s on s.acquirer_id = x."acquirerId" and s.stan = lpad((counter % ${STANS} + 1)::text, 6, '0')
  where s.reversal_state in (${OPEN_REVERSAL_STATES.join()}) and (x.tid is null or s.tid = x.tid)
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
