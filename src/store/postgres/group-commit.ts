import { channel } from 'node:diagnostics_channel';
import type pg from 'pg';
import { isStoreCondition } from '../../basics/errors/system-error.ts';
import { Overloaded, StoreUnavailable } from '../../basics/errors.ts';
import { BATCH_SETTINGS, type Database, isForBatches } from './open-database.ts';
import { beginWith, PipelinedTransaction } from './pipelined-transaction.ts';

/** Writes per fsync: above this, the statement's own time dominates. */
const MAX_BATCH = 256;
/**
 * If no transaction can be opened, this many writes fail at once: a long queue would otherwise wait batch by batch.
 */
const MAX_TOLD = 512;

/** For a pool whose sessions also serve statements that need a plan of their own. */
const BEGIN_BATCH = beginWith(Object.entries(BATCH_SETTINGS).map(([name, value]) => `${name} = ${value}`));

/** Channel of a {@link CommitReport} for each commit; it has subscribers only if there are metrics. */
export const COMMITS = 'tapwire:commits';

export interface CommitReport {
  readonly seconds: number;
  /** Number of writes in the commit. */
  readonly writes: number;
}

const commits = channel(COMMITS);

/**
 * Sends COMMIT at once, behind the statements that were sent so far. Only for work that sends no further statement,
 * and throws only what one of these statements throws: the server then rolls back.
 */
export type Seal = () => void;

interface Waiting<Item, Outcome> {
  readonly item: Item;
  readonly resolve: (outcome: Outcome) => void;
  readonly reject: (error: unknown) => void;
}

export interface GroupCommitOptions<Item, Outcome> {
  /**
   * Batches are written in the order of their keys, so that two of them cannot deadlock. A batch has each key once.
   */
  readonly keyOf: (item: Item) => string;
  /** Writes a batch inside an open transaction; returns one outcome per item, in order. */
  readonly write: (client: pg.PoolClient, items: readonly Item[], seal: Seal) => Promise<readonly Outcome[]>;
  /** If this many writes wait, a new one is refused. Absent if a refusal would cost more than the wait. */
  readonly maxQueued?: number | undefined;
  /**
   * Gathers writes for this long, or until a batch is full, instead of starting at once: for writes that no request waits
   * for.
   */
  readonly everyMs?: number | undefined;
}

/**
 * Concurrent writes share one statement and one fsync. A write joins the next batch, so its latency is one commit,
 * not a timer, and the cost per write falls as load rises.
 *
 * One batch runs at a time: while it waits for its fsync, the next one gathers. With two concurrent batches each is
 * half as large, and a commit costs more than the writes in it (interleaved rounds at half load: p50 18.5 ms with
 * two, 13.4 with one; p99 119, 51; at full load 2,282 taps/s, 2,568). Writes that arrive while a connection is taken
 * from the pool still join the batch.
 *
 * A write that the database refuses must not fail its batch: on a data error (SQLSTATE class 22 or 23) or a deadlock
 * (40P01) the batch is split in halves until the failing write is alone.
 */
export class GroupCommit<Item, Outcome> {
  readonly #database: Database;
  readonly #begin: string | undefined;
  readonly #options: GroupCommitOptions<Item, Outcome>;
  #queue: Waiting<Item, Outcome>[] = [];
  /** Whether a batch is running, or about to start with all writes that come until then. */
  #isUnderWay = false;
  /** Runs while writes are gathered. */
  #gathering: NodeJS.Timeout | undefined;
  #onIdle: (() => void)[] = [];

  constructor(database: Database, options: GroupCommitOptions<Item, Outcome>) {
    this.#database = database;
    this.#begin = isForBatches(database) ? undefined : BEGIN_BATCH;
    this.#options = options;
  }

  /** Resolves after the commit. @throws Overloaded before anything is stored */
  submit(item: Item): Promise<Outcome> {
    if (this.#queue.length >= (this.#options.maxQueued ?? Number.POSITIVE_INFINITY))
      return Promise.reject(new Overloaded('store'));
    return new Promise((resolve, reject) => {
      this.#queue.push({ item, resolve, reject });
      this.#schedule();
    });
  }

  /** Resolves when no write waits and no batch runs. */
  idle(): Promise<void> {
    if (this.#isIdle()) return Promise.resolve();
    return new Promise((resolve) => this.#onIdle.push(resolve));
  }

  #isIdle(): boolean {
    return this.#queue.length === 0 && !this.#isUnderWay;
  }

  /** Lets all writes of this turn of the event loop join the batch. */
  #schedule(): void {
    const isFull = this.#queue.length >= MAX_BATCH;
    if (this.#isUnderWay && !(isFull && this.#gathering)) return;
    this.#isUnderWay = true;
    clearTimeout(this.#gathering);
    this.#gathering = undefined;
    const leave = () => void this.#leave();
    // Without the next batch at once, writes that come faster than one batch in that time would wait ever longer.
    if (this.#options.everyMs === undefined || isFull) setImmediate(leave);
    else this.#gathering = setTimeout(leave, this.#options.everyMs);
  }

  async #leave(): Promise<void> {
    this.#gathering = undefined;
    await this.#commit();
    this.#isUnderWay = false;
    if (this.#queue.length > 0) this.#schedule();
    else for (const resolve of this.#onIdle.splice(0)) resolve();
  }

  /** The oldest writes, each key once; a second write with a key waits for the next batch. */
  #takeBatch(most = MAX_BATCH): Waiting<Item, Outcome>[] {
    const batch = new Map<string, Waiting<Item, Outcome>>();
    const later: Waiting<Item, Outcome>[] = [];
    let taken = 0;
    for (; taken < this.#queue.length && batch.size < most; taken++) {
      const waiting = this.#queue[taken]!;
      const key = this.#options.keyOf(waiting.item);
      if (batch.has(key)) later.push(waiting);
      else batch.set(key, waiting);
    }
    this.#queue = [...later, ...this.#queue.slice(taken)];
    return [...batch].sort(([one], [other]) => (one < other ? -1 : 1)).map(([, waiting]) => waiting);
  }

  /** @param part of a batch that was refused; without it, the writes that wait when the transaction is open */
  async #commit(part?: readonly Waiting<Item, Outcome>[]): Promise<void> {
    let batch = part;
    try {
      const startedAtMs = performance.now();
      const work = (client: pg.PoolClient, seal: Seal) => {
        batch ??= this.#takeBatch();
        return this.#options.write(
          client,
          batch.map(({ item }) => item),
          seal,
        );
      };
      const outcomes = await inTransaction(this.#database, work, this.#begin);
      const report: CommitReport = { seconds: (performance.now() - startedAtMs) / 1_000, writes: outcomes.length };
      commits.publish(report);
      for (const [index, { resolve }] of batch!.entries()) resolve(outcomes[index]!);
    } catch (error) {
      batch ??= this.#takeBatch(MAX_TOLD); // no transaction could be opened
      if (batch.length === 1 || !isTheFaultOfOne(error)) {
        for (const { reject } of batch) reject(error);
        return;
      }
      const middle = batch.length >> 1;
      await this.#commit(batch.slice(0, middle));
      await this.#commit(batch.slice(middle));
    }
  }
}

/**
 * Runs `work` between begin and commit; rolls back and rethrows what it throws. Statements
 * do not wait for the responses to those before them: a commit takes one round trip if its work seals it, and one more
 * for each response that the work waits for.
 *
 * @throws StoreUnavailable if the connection failed (`mayBeStored` after COMMIT was sent), or the server refused for
 * a reason of its own, such as a full disk or a lock timeout
 */
export async function inTransaction<T>(
  database: Database,
  work: (client: pg.PoolClient, seal: Seal) => Promise<T>,
  begin = 'begin',
): Promise<T> {
  const client = await database.connect().catch((cause) => {
    throw new StoreUnavailable(false, { cause });
  });
  const transaction = new PipelinedTransaction(client, begin);
  try {
    const result = await work(client, transaction.seal);
    await transaction.commit();
    return result;
  } catch (error) {
    const end = await transaction.end();
    // A primary that has become a standby stays one: the next connection may lead to its successor.
    if (isReadOnly(error)) transaction.lost = error;
    // Without a response to the rollback, it is unknown what the server did. After a rollback nothing is stored.
    if (end !== 'rolledBack') throw new StoreUnavailable(end === 'uncertain', { cause: error });
    throw isStoreCondition(error) ? new StoreUnavailable(false, { cause: error }) : error;
  } finally {
    transaction.close();
    client.release(transaction.lost);
  }
}

/** read_only_sql_transaction. */
function isReadOnly(error: unknown): error is Error {
  return error instanceof Error && (error as { code?: unknown }).code === '25006';
}

function isTheFaultOfOne(error: unknown): boolean {
  const refusal = error instanceof StoreUnavailable && !error.mayBeStored ? error.cause : error;
  const code = (refusal as { code?: unknown } | undefined)?.code;
  return typeof code === 'string' && (code.startsWith('22') || code.startsWith('23') || code === '40P01');
}
