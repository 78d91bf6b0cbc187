import { randomUUID } from 'node:crypto';
import type pg from 'pg';
import { makeRoom } from '../../codecs/bytes/lru-map.ts';
import type { TakenStan } from '../../payments/ports/switch-ports.ts';
import { GroupCommit, inTransaction } from '../postgres/group-commit.ts';
import type { Database } from '../postgres/open-database.ts';
import { STANS } from './business-dates.ts';
import { NOTE_EPOCH, NOTE_STOP } from './database-epoch.ts';
import {
  BLOCK_SIZE,
  RESERVE,
  type Reserved,
  RRN_PERIOD_HOURS,
  type StanScope,
  scopeText,
  type Wanted,
} from './reserve-stans.ts';

/** An operator is alerted while a tenth is left: at a steady rate, more than two hours before the numbers run out. */
export const FEW_STANS = 100_000;
/** Limit of scopes that a process remembers as reported. Above it, they are reported again. */
const MAX_REPORTED = 1_000;
/**
 * Limit of scopes with a block in this process, and of scopes whose numbers it remembers. Above it, the least recently
 * opened blocks are dropped with their unused numbers.
 */
const MAX_SCOPES = 50_000;
const PERIOD_MS = RRN_PERIOD_HOURS * 3_600_000;
/** If the clock of the process is ahead of the database's, it does not ask for another block more often than this. */
const CLOCKS_APART_MS = 600_000;

/**
 * System trace audit numbers, unique in their scope and business date on any number of processes. A process reserves
 * them in the database in blocks and never returns a block, so a crash loses numbers and repeats none. A number that was
 * taken for nothing is used for the next message of the process, so requests that send nothing do not use up a day's numbers.
 *
 * The counter of a scope never restarts, and the STAN is its remainder: a cut-over does not reset it. Each number can
 * be used once per business date, and once in a quarter of a UTC day, because an RRN is the hour and the number. When all are
 * used, no further number exists until the switch cuts over, or until the quarter ends. A block is dropped with its quarter.
 * A number that a reversal still needs is skipped.
 *
 * A restored backup or a standby that took over may lack the last reservations. Two measures prevent a repetition. A
 * running process requires numbers above those it has had. And a database that is not the same as before (by system
 * identifier, timeline and oid), or lacks the last note of the process, reserves none until it is known whether some were
 * lost, and all scopes have skipped them (database-epoch.ts).
 */
export class StanBlocks {
  readonly #database: Database;
  readonly #onSkip: OnSkip;
  readonly #onFew: OnFewStans;
  readonly #reported = new Set<string>();
  readonly #reserve: GroupCommit<Wanted, Reservation>;
  readonly #blocks = new Map<string, Promise<Block | undefined>>();
  /**
   * For each scope the end of the numbers that this process has reserved for messages of any kind, even if a later
   * reservation failed.
   */
  readonly #floors = new Map<string, number>();
  /** Names this process in the record of the database. */
  readonly #id = randomUUID();
  /** The last note of this process. */
  #noted: Note | undefined;

  private constructor(database: Database, onSkip: OnSkip, onFew: OnFewStans) {
    this.#database = database;
    this.#onSkip = onSkip;
    this.#onFew = onFew;
    this.#reserve = new GroupCommit<Wanted, Reservation>(database, {
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
    await inTransaction(this.#database, (client) => this.noteOn(client));
  }

  /** Records the same on a connection, which may be the first one to another database. */
  async noteOn(client: pg.ClientBase): Promise<void> {
    this.#noted = await this.#note(client, false);
    this.#tellSkip(this.#noted);
  }

  /** Records that this process stops and uses no further numbers. */
  async close(): Promise<void> {
    await this.#database.query(NOTE_STOP, [this.#id]);
  }

  /** @param isLossShown whether this process has had numbers that the database has not reserved */
  async #note(client: pg.ClientBase, isLossShown: boolean): Promise<Note> {
    const values = [isLossShown, this.#noted?.notes, this.#id, this.#noted?.notedAt];
    return (await client.query<Note>({ name: 'note-epoch', text: NOTE_EPOCH, values })).rows[0]!;
  }

  #tellSkip({ cause, scopes, held }: Note): void {
    if (cause !== null && scopes > 0) this.#onSkip({ cause, scopes, held });
  }

  async #reserveAll(client: pg.ClientBase, wanted: readonly Wanted[]): Promise<Reservation[]> {
    const reserve = async (isNoted: boolean) => {
      const values = [JSON.stringify(wanted), isNoted, this.#id, this.#noted?.notedAt];
      return (await client.query<Reserved>({ name: 'reserve-stans', text: RESERVE, values })).rows;
    };
    let rows = await reserve(false);
    let noted: Note | undefined;
    if (rows.some(({ isKnown, isLost }) => !isKnown || isLost)) {
      const isLossShown = rows.some(({ isLost }) => isLost);
      noted = await this.#note(client, isLossShown);
      this.#tellSkip(noted);
      rows = await reserve(true);
    }
    const reserved = new Map(rows.map((row) => [row.scope, row]));
    return wanted.map(({ scope }) => ({ block: blockOf(reserved.get(scope)), noted }));
  }

  /**
   * A number of six digits; undefined if the scope has used up all numbers of its business date or of the hour.
   *
   * @param day the business date, `2026-11-20`
   * @param leaving how many of the day's numbers must remain for others
   * @throws StoreUnavailable if a new block is needed and the database is unavailable
   */
  async next({ acquirerId, tid }: StanScope, day: string, leaving = 0): Promise<TakenStan | undefined> {
    const scope = scopeText({ acquirerId, tid });
    // Each class of callers has its own blocks, so that numbers reserved for one class are not used by another.
    const key = `${leaving} ${scope}`;
    for (;;) {
      const wanted = { scope, acquirerId, tid, asked: day, floor: this.#floors.get(scope) ?? 0, most: STANS - leaving };
      const opening = this.#blocks.get(key) ?? this.#openBlock(key, wanted);
      const block = await opening;
      const stan = block && block.day >= day && !isOver(block) ? block.stans.pop() : undefined;
      if (stan !== undefined) return this.#taken(key, block!, stan);
      if (this.#blocks.get(key) === opening) this.#blocks.delete(key);
      if (block === undefined) {
        this.#tellOnce({ acquirerId, tid }, day, 0);
        return undefined;
      }
    }
  }

  #taken(key: string, block: Block, stan: string): TakenStan {
    let isTaken = true;
    const putBack = () => {
      if (!isTaken) return;
      isTaken = false;
      this.#putBack(key, block, stan);
    };
    return { stan, rrnAtMs: (sentAtMs) => withinPeriod(block, sentAtMs), putBack };
  }

  /** The number joins the present block of its class. It is lost if that is of another business date or period. */
  #putBack(key: string, block: Block, stan: string): void {
    const present = this.#blocks.get(key);
    if (present === undefined) {
      block.stans.push(stan);
      if (this.#blocks.size < MAX_SCOPES) this.#blocks.set(key, Promise.resolve(block));
      return;
    }
    present.then(
      (current) => current?.day === block.day && current.periodAtMs === block.periodAtMs && current.stans.push(stan),
      () => {},
    );
  }

  #openBlock(key: string, wanted: Wanted): Promise<Block | undefined> {
    makeRoom(this.#blocks, MAX_SCOPES);
    const opening = this.#reserve.submit(wanted).then((reservation) => this.#remember(wanted.scope, reservation));
    this.#blocks.set(key, opening);
    opening.then(
      (block) => block && block.left < FEW_STANS && this.#tellOnce(wanted, block.day, block.left),
      () => this.#blocks.delete(key),
    );
    return opening;
  }

  /** Called after the commit: what was rolled back is no evidence. */
  #remember(scope: string, { block, noted }: Reservation): Block | undefined {
    if (noted) this.#noted = noted;
    if (!block) return undefined;
    const floor = Math.max(this.#floors.get(scope) ?? 0, block.end);
    this.#floors.delete(scope); // the most recent one is last
    makeRoom(this.#floors, MAX_SCOPES);
    this.#floors.set(scope, floor);
    return block;
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

/** A note of this process in the record of the database. */
interface Note extends Omit<SkippedStans, 'cause'> {
  /** How many notes there are since. */
  readonly notes: string;
  /** Seconds since 1970, by the clock of the database. */
  readonly notedAt: string;
  /** Null if no numbers were skipped. */
  readonly cause: SkippedStans['cause'] | null;
}

interface Reservation {
  /** Undefined if the business date has none left. */
  readonly block: Block | undefined;
  /** Set if the database was noted in the same commit. */
  readonly noted: Note | undefined;
}

/** Numbers that only this process may use, on this business date. */
interface Block {
  readonly day: string;
  /** The beginning of the period whose RRNs may have the numbers, by the clock of the database. */
  readonly periodAtMs: number;
  /** When the block was reserved, by the clock of this process. */
  readonly reservedAtMs: number;
  /** The new value of the counter. */
  readonly end: number;
  /** The remaining numbers; the next one is last. */
  readonly stans: string[];
  /** Numbers of the business date that no block has reserved yet. */
  readonly left: number;
}

function blockOf(reserved: Reserved | undefined): Block | undefined {
  if (reserved === undefined || reserved.first === null) return undefined;
  const { first, day, periodAtMs, owed, used } = reserved;
  const end = first + BLOCK_SIZE;
  const stans: string[] = [];
  for (let counter = end - 1; counter >= first; counter--) {
    const stan = String((counter % STANS) + 1).padStart(6, '0');
    if (!owed.includes(stan)) stans.push(stan);
  }
  return { day, periodAtMs, reservedAtMs: Date.now(), end, stans, left: Math.max(STANS - used, 0) };
}

/** Whether the period has ended. If the clock of the database is still in it, its numbers are used nevertheless. */
function isOver({ periodAtMs, reservedAtMs }: Block): boolean {
  const nowMs = Date.now();
  return nowMs >= periodAtMs + PERIOD_MS && nowMs >= reservedAtMs + CLOCKS_APART_MS;
}

/** The time for the RRN of a request: another one only if the clock of the process is not in the period. */
function withinPeriod({ periodAtMs }: Block, sentAtMs: number): number {
  return Math.min(Math.max(sentAtMs, periodAtMs), periodAtMs + PERIOD_MS - 1);
}
