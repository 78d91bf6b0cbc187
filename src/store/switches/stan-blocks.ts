import { randomUUID } from 'node:crypto';
import type pg from 'pg';
import { OPEN_REVERSAL_STATES } from '../../transactions/model/transaction.ts';
import { GroupCommit, inTransaction } from '../postgres/group-commit.ts';
import type { Database } from '../postgres/open-database.ts';
import { NOTE_EPOCH, NOTE_STOP, THIS_EPOCH } from './database-epoch.ts';
import { STANS } from './stans.ts';

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
/** The scope in which a STAN is unique: a terminal of an acquirer, or all of its messages. */
export interface StanScope {
  readonly acquirerId: number;
  readonly tid: string | null;
}

/** As in the table. */
export function scopeText({ acquirerId, tid }: StanScope): string {
  return tid === null ? `${acquirerId}` : `${acquirerId} ${tid}`;
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
 * running process requires numbers above those it has had. And a database that is not the same as before (by system
 * identifier, timeline and oid) reserves none until it is known whether some were lost, and all scopes have skipped them
 * (database-epoch.ts).
 */
export class StanBlocks {
  readonly #database: Database;
  readonly #onSkip: OnSkip;
  readonly #onFew: OnFewStans;
  readonly #reported = new Set<string>();
  readonly #reserve: GroupCommit<Wanted, Block | undefined>;
  readonly #blocks = new Map<string, Promise<Block | undefined>>();
  /** Names this process in the record of the database. */
  readonly #id = randomUUID();
  /** How many notes the database had after the last one of this process. */
  #notes: string | null = null;

  private constructor(database: Database, onSkip: OnSkip, onFew: OnFewStans) {
    this.#database = database;
    this.#onSkip = onSkip;
    this.#onFew = onFew;
    this.#reserve = new GroupCommit<Wanted, Block | undefined>(database, {
      keyOf: ({ scope }) => scope,
      write: (client, wanted) => this.#reserveAll(client, wanted),
    });
  }

  /**
   * @param onSkip called when scopes have skipped numbers or are held because reservations may have been lost
   * @param onFew called once for a scope and business date when fewer than `FEW_STANS` are left, and once when all
   * are used
   */
  static async open(database: Database, onSkip: OnSkip = () => {}, onFew: OnFewStans = () => {}): Promise<StanBlocks> {
    const blocks = new StanBlocks(database, onSkip, onFew);
    await blocks.noteDatabase();
    return blocks;
  }

  /**
   * Records that this process is connected to the database as it is now. To be repeated while it runs, every
   * `SEEN_EVERY_MS`.
   */
  async noteDatabase(): Promise<void> {
    const noted = await inTransaction(this.#database, (client) => this.#note(client, false));
    this.#notes = noted.notes;
    this.#tellSkip(noted);
  }

  /** Records that this process stops and uses no further numbers. */
  async close(): Promise<void> {
    await this.#database.query(NOTE_STOP, [this.#id]);
  }

  /** @param isLossShown whether this process has had numbers that the database has not reserved */
  async #note(client: pg.ClientBase, isLossShown: boolean): Promise<Noted> {
    const values = [isLossShown, this.#notes, this.#id];
    return (await client.query<Noted>({ name: 'note-epoch', text: NOTE_EPOCH, values })).rows[0]!;
  }

  #tellSkip({ cause, scopes, held }: Noted): void {
    if (cause !== null && scopes > 0) this.#onSkip({ cause, scopes, held });
  }

  async #reserveAll(client: pg.ClientBase, wanted: readonly Wanted[]): Promise<(Block | undefined)[]> {
    const reserve = async (isNoted: boolean) => {
      const values = [JSON.stringify(wanted), isNoted];
      return (await client.query<Reserved>({ name: 'reserve-stans', text: RESERVE, values })).rows;
    };
    let rows = await reserve(false);
    if (rows.some(({ isKnown, isLost }) => !isKnown || isLost)) {
      const isLossShown = rows.some(({ isLost }) => isLost);
      this.#tellSkip(await this.#note(client, isLossShown));
      rows = await reserve(true);
    }
    const reserved = new Map(rows.map((row) => [row.scope, row]));
    return wanted.map(({ scope }) => blockOf(reserved.get(scope)));
  }

  /**
   * Six digits; undefined if the scope has used up all numbers of its business date.
   *
   * @param day the business date, `2026-11-20`
   * @param leaving how many of the day's numbers must remain for others
   * @throws StoreUnavailable if a new block is needed and the database is unavailable
   */
  async next({ acquirerId, tid }: StanScope, day: string, leaving = 0): Promise<string | undefined> {
    const scope = scopeText({ acquirerId, tid });
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

/** Scopes that have skipped numbers. */
export interface SkippedStans {
  /** The database was replaced by another one, restored to an earlier state, or not seen for a while (database-epoch.ts). */
  readonly cause: 'replaced' | 'restored' | 'unseen';
  readonly scopes: number;
  /** Scopes without numbers until an operator names the last one that was used; at most 20 of them. */
  readonly held: readonly string[];
}
export type OnSkip = (skipped: SkippedStans) => void;
/** Called with the scope and how many numbers of its business date are left. */
export type OnFewStans = (scope: StanScope, left: number) => void;

interface Noted extends Omit<SkippedStans, 'cause'> {
  readonly notes: string;
  /** Null if no numbers were skipped. */
  readonly cause: SkippedStans['cause'] | null;
}

interface Wanted extends StanScope {
  readonly scope: string;
  readonly day: string;
  /** The counter's minimum: the end of the numbers that this process has had. */
  readonly floor: number;
}

interface Reserved {
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
  if (reserved === undefined || reserved.first === null) return undefined;
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

// Reserves nothing in a database that was not noted as it is, and nothing for a scope that is held or whose business date
// has no block left. $2: whether the database was noted in this transaction.
const RESERVE = `
with x as (select * from json_to_recordset($1::text::json) as x(scope text, "acquirerId" integer, tid text, day date, floor bigint, most bigint)),
known as (
  select e.first_value from database_epoch e, (${THIS_EPOCH}) this
  where e.is_only and e.epoch = this.epoch and e.is_synchronous = this.is_synchronous
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
    day_first = case when excluded.business_date > b.business_date
      then greatest(b.next_value, (select floor from x where x.scope = b.scope)) else b.day_first end,
    business_date = greatest(b.business_date, excluded.business_date),
    held_until = null,
    reserved_at = clock_timestamp()
  where (b.held_until is null or excluded.business_date > b.held_until)
    and (excluded.business_date > b.business_date
      or greatest(b.next_value, (select floor from x where x.scope = b.scope)) + ${BLOCK_SIZE} - b.day_first <= (select most from x where x.scope = b.scope))
  returning scope, next_value - ${BLOCK_SIZE} as first, business_date, next_value - day_first as used
)
select x.scope, first, business_date::text as day, used, exists (select from known) as "isKnown",
  not $2::boolean and exists (select from lost where lost.scope = x.scope) as "isLost", array(
  select t.stan from transactions t
  where t.acquirer_id = x."acquirerId" and t.stan = any(${OF_BLOCK}) and t.reversal_state in (${OPEN_REVERSAL_STATES.join()}) and (x.tid is null or t.tid = x.tid)
  union all
  select s.stan from superseded_attempts s
  where s.acquirer_id = x."acquirerId" and s.stan = any(${OF_BLOCK}) and s.reversal_state in (${OPEN_REVERSAL_STATES.join()}) and (x.tid is null or s.tid = x.tid)
) as owed
from x left join reserved using (scope)`;
