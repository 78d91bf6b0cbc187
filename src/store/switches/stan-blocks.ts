import { OPEN_REVERSAL_STATES } from '../../transactions/model/transaction.ts';
import { GroupCommit } from '../postgres/group-commit.ts';
import type { Database } from '../postgres/open-database.ts';

/** STANs are 000001 to 999999 (ISO 8583:1987, DE11), so a scope has this many per business date. */
export const STANS = 999_999;
/** An operator is alerted while a tenth is left: at a steady rate, more than two hours before the numbers run out. */
export const FEW_STANS = 100_000;
/** Limit of scopes that a process remembers as reported. Above it, they are reported again. */
const MAX_REPORTED = 1_000;
/**
 * Numbers that a process reserves at once. A terminal rarely needs more in a minute, and a crash wastes no more than
 * these.
 */
const BLOCK_SIZE = 100;
/**
 * Limit of scopes with a block in this process. Above it, the least recently opened blocks are dropped with their
 * unused numbers.
 */
const MAX_SCOPES = 50_000;
/**
 * A standby that took over within a minute has lost seconds of reservations, during which a scope uses fewer numbers.
 */
const JUMP_AFTER_FAILOVER = 100_000;
/**
 * A backup may be hours old: the jump is half of the numbers, so the other half is not reached before the next
 * business date.
 */
const JUMP_AFTER_RESTORE = 500_000;

/** The scope in which a STAN is unique: a terminal of an acquirer, or all of its messages. */
interface StanScope {
  readonly acquirerId: number;
  readonly tid: string | null;
}

/**
 * System trace audit numbers, unique in their scope and business date on any number of processes. A process reserves
 * them in the database in blocks and never returns one, so a crash loses numbers and repeats none.
 *
 * The counter of a scope never restarts, and the STAN is its remainder: a cut-over does not reset it. Each number can
 * be used once per business date. When all are used, no further number exists until the switch cuts over. A number
 * that a reversal still needs is skipped.
 *
 * A restored backup or a standby that took over may lack the last reservations. Two measures prevent a repetition. A
 * running process requires numbers above those it has had. And if the database is not the same as before (by system
 * identifier, timeline and oid), every scope jumps ahead.
 */
export class StanBlocks {
  readonly #onFew: OnFewStans;
  readonly #reported = new Set<string>();
  readonly #reserve: GroupCommit<Wanted, Block | undefined>;
  readonly #blocks = new Map<string, Promise<Block | undefined>>();

  private constructor(database: Database, onFew: OnFewStans) {
    this.#onFew = onFew;
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
   * @param onJump called with the number of scopes that have jumped ahead because the database is not the same as
   * before
   * @param onFew called once for a scope and business date when fewer than `FEW_STANS` are left, and once when all
   * are used
   */
  static async open(
    database: Database,
    onJump: (scopes: number) => void = () => {},
    onFew: OnFewStans = () => {},
  ): Promise<StanBlocks> {
    const { rowCount } = await database.query(JUMP);
    if (rowCount) onJump(rowCount);
    return new StanBlocks(database, onFew);
  }

  /**
   * Six digits; undefined if the scope has used up all numbers of its business date.
   *
   * @param day the business date, `2026-11-20`
   * @param leaving how many of the day's numbers must remain for others
   * @throws StoreUnavailable if a new block is needed and the database is unavailable
   */
  async next({ acquirerId, tid }: StanScope, day: string, leaving = 0): Promise<string | undefined> {
    const scope = tid === null ? `${acquirerId}` : `${acquirerId} ${tid}`;
    // Each class of callers has its own blocks, so that numbers reserved for one class are not used by another.
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
    this.#onFew({ acquirerId, tid }, left);
  }
}

/** Called with the scope and how many numbers of its business date are left. */
export type OnFewStans = (scope: StanScope, left: number) => void;

interface Wanted extends StanScope {
  readonly scope: string;
  readonly day: string;
  /** The counter's minimum: the end of the numbers that this process has had. */
  readonly floor: number;
}

interface Reserved {
  readonly scope: string;
  readonly first: number;
  readonly day: string;
  readonly owed: readonly string[];
  /** Numbers that the business date has used, including those of this block. */
  readonly used: number;
}

/** Numbers that only this process may use, on this business date. */
interface Block {
  readonly day: string;
  /** The new value of the counter. */
  readonly end: number;
  /** The remaining numbers; the next one is last. */
  readonly stans: string[];
  /** Numbers of the business date that no block has reserved yet. */
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

// An array instead of a join: the join of a plan that is kept from a time without reversals compares each number of the
// block with each reversal (0.4 s for 10,000 of them).
const OF_BLOCK = `array(
    select lpad((counter % ${STANS} + 1)::text, 6, '0') from generate_series(first, first + ${BLOCK_SIZE - 1}) as counter)`;

// Returns no row for a scope whose business date has no block left.
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
  select t.stan from transactions t
  where t.acquirer_id = x."acquirerId" and t.stan = any(${OF_BLOCK}) and t.reversal_state in (${OPEN_REVERSAL_STATES.join()}) and (x.tid is null or t.tid = x.tid)
  union all
  select s.stan from superseded_attempts s
  where s.acquirer_id = x."acquirerId" and s.stan = any(${OF_BLOCK}) and s.reversal_state in (${OPEN_REVERSAL_STATES.join()}) and (x.tid is null or s.tid = x.tid)
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
