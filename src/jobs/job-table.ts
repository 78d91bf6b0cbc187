import type pg from 'pg';
import { PgBoss } from 'pg-boss';
import type { QueueName } from '#schemas/jobs';
import { Shares } from '../basics/limits/concurrency-limit.ts';
import type { StorableJob } from '../payments/model/decision.ts';
import { namedStatement } from '../store/postgres/followed-table.ts';
import { GroupCommit, inTransaction, type Seal } from '../store/postgres/group-commit.ts';
import { openAlike } from '../store/postgres/open-database.ts';
import { beginWith, openTransaction } from '../store/postgres/pipelined-transaction.ts';
import { SESSION_LIMITS } from '../store/postgres/session-limits.ts';
import type { IdentifiedJob, JobsInCommit } from '../store/transactions/jobs-in-commit.ts';
import { PACES } from './paces.ts';
import { DEAD_LETTERS, QUEUE_NAMES, QUEUES, RECENT_MINUTES, STANDS_APART, type WorkName } from './queues.ts';

/**
 * Finished jobs are deleted in the outcome's commit or soon after, so the few completed ones need not be kept long.
 */
const KEEP_COMPLETED_SECONDS = 3_600;
/** A reversal may be due in 72 hours. A job that has waited for a month is obsolete. */
const KEEP_WAITING_SECONDS = 30 * 86_400;

/** An orphaned job is noticed this long after its claim has expired, which takes a quarter of a minute at least. */
const MONITOR_SECONDS = 10;

/** For pg-boss's search for jobs that wait for others, of which there are none. */
const UNUSED_SECONDS = 3_600;

/** pg-boss's monitor runs at the same time as its installation. */
const INSTALLING_CONNECTIONS = 2;

/** Limit of one commit: more would lock the table's rows for long. */
const REDRIVEN_AT_ONCE = 1_000;

/**
 * Asks about the queues in $1. Each queue has a subquery with its name, so that the plan, which is made once for each
 * connection, names its partition. A queue that is not asked about is not searched. The conditions and the order are
 * those of pg-boss's fetch.
 */
const WITH_DUE_JOBS = {
  name: 'queues-with-due-jobs',
  text: QUEUE_NAMES.map(
    (name) => `select '${name}' as queue from (
      select from pgboss.job where '${name}' = any($1::text[])
        and name = '${name}' and state < 'active' and not blocked and start_after <= now()
      order by priority desc, created_on limit 1) as due`,
  )
    .concat(
      `select 'overdue' from (
      select from open_attempts where 'overdue' = any($1::text[]) and due_at <= now() and due_at > now() - interval '${RECENT_MINUTES} minutes'
      order by due_at limit 1) as due`,
    )
    .join('\nunion all '),
};

/**
 * For an empty table, a scan of all rows or of any index looks as cheap as pg-boss's index of waiting jobs, and the plan
 * remains when there are a hundred thousand jobs. Without scans and sorts only that index is left.
 */
const BEGIN_BY_INDEX = beginWith(['plan_cache_mode = force_generic_plan', 'enable_seqscan = off', 'enable_sort = off']);

/** A finished job, and the one that replaces it if more work remains. */
interface FinishedJob {
  readonly queue: QueueName;
  /** Identifies the claim of the job. */
  readonly attempt: { readonly id: string; readonly retryCount: number };
  readonly again?: StorableJob | undefined;
}

/**
 * The gateway's jobs, in pg-boss. Jobs are inserted, taken and removed in the caller's commit, so a job and the
 * status from which it follows are stored together or not at all.
 */
export class JobTable implements JobsInCommit {
  readonly boss: PgBoss;
  readonly #database: pg.Pool;
  readonly #finishes: GroupCommit<FinishedJob, true>;
  #onInsert: (queue: QueueName, inSeconds: number) => void = () => {};

  private constructor(boss: PgBoss, database: pg.Pool) {
    this.boss = boss;
    this.#database = database;
    this.#finishes = new GroupCommit<FinishedJob, true>(database, {
      keyOf: ({ attempt }) => attempt.id,
      write: (client, finished) => this.#finishAll(client, finished),
    });
  }

  /**
   * Installs pg-boss's schema and the gateway's queues, and starts its monitor, which detects an orphaned job within
   * `monitorSeconds`. An update of its schema may rewrite large tables, so it has the limits of a migration.
   */
  static async open(
    database: pg.Pool,
    onError: (error: unknown) => void,
    {
      monitorSeconds = MONITOR_SECONDS,
    }: {
      /** Between two searches for orphaned jobs. */
      readonly monitorSeconds?: number;
    } = {},
  ): Promise<JobTable> {
    const installing = openAlike(database, {
      maxConnections: INSTALLING_CONNECTIONS,
      limits: SESSION_LIMITS.migration,
    });
    let pool = installing;
    const boss = new PgBoss({
      db: { executeSql: (text, values) => pool.query(text, values) },
      schedule: false,
      // Both are required, or the monitor's interval stays at a minute.
      monitorIntervalSeconds: monitorSeconds,
      superviseIntervalSeconds: monitorSeconds,
      // Its warnings have no reader here, and cost as much as all else that it does.
      monitorVacuum: false,
      flowIntervalSeconds: UNUSED_SECONDS,
    });
    boss.on('error', onError);
    const table = new JobTable(boss, database);
    try {
      await boss.start();
      await table.#createQueues();
    } catch (error) {
      await table.close();
      throw error;
    } finally {
      pool = database;
      await installing.end();
    }
    return table;
  }

  async #createQueues(): Promise<void> {
    const { boss } = this;
    await boss.createQueue(DEAD_LETTERS, {
      retryLimit: 0,
      retentionSeconds: KEEP_WAITING_SECONDS,
      deleteAfterSeconds: 0,
    });
    for (const name of QUEUE_NAMES) {
      const policy = {
        ...QUEUES[name],
        retentionSeconds: KEEP_WAITING_SECONDS,
        deleteAfterSeconds: KEEP_COMPLETED_SECONDS,
      };
      await boss.createQueue(name, { ...policy, deadLetter: DEAD_LETTERS, partition: STANDS_APART.has(name) });
      await boss.updateQueue(name, policy);
    }
  }

  async enqueue(client: pg.ClientBase, jobs: readonly StorableJob[]): Promise<void> {
    const { length } = await this.#insert(client, jobs);
    if (length !== jobs.length) throw new Error(`${jobs.length} jobs were to be inserted, ${length} were`);
  }

  async offer(client: pg.ClientBase, jobs: readonly IdentifiedJob[]): Promise<ReadonlySet<string>> {
    return new Set(await this.#insert(client, jobs));
  }

  /** Calls back for each job that this process inserts, with the time until it is due; it may not be committed yet. */
  followInserts(onInsert: (queue: QueueName, inSeconds: number) => void): void {
    this.#onInsert = onInsert;
  }

  /** @returns the ids of those that were inserted */
  async #insert(client: pg.ClientBase, jobs: readonly StorableJob[]): Promise<string[]> {
    const inserted: string[] = [];
    const db = this.#joining(client); // the commit may fail between two queues
    for (const [queue, requests] of Map.groupBy(jobs, ({ queue }) => queue)) {
      const rows = requests.map(({ id, data, startAfterSeconds, group }) => ({
        ...(id === undefined ? {} : { id }),
        data,
        ...(startAfterSeconds === undefined ? {} : { startAfter: startAfterSeconds }),
        ...groupOf(queue, data, group),
      }));
      const ids = await this.boss.insert(queue, rows, { db, returnId: true });
      inserted.push(...(ids ?? []));
      for (const { startAfterSeconds = 0 } of requests) this.#onInsert(queue, startAfterSeconds);
    }
    return inserted;
  }

  /** Which of these queues have a job that a fetch could take now, and whether an attempt is overdue. */
  async queuesWithDueJobs(queues: readonly WorkName[]): Promise<WorkName[]> {
    const ask = async (client: pg.PoolClient, seal: Seal) => {
      const response = client.query<{ queue: WorkName }>({ ...WITH_DUE_JOBS, values: [queues] });
      seal();
      return (await response).rows.map(({ queue }) => queue);
    };
    return inTransaction(this.#database, ask, BEGIN_BY_INDEX);
  }

  /** Ensures that a permanent job exists. Any number of processes may call this at once. */
  async keepOne(job: StorableJob): Promise<void> {
    await inTransaction(this.#database, async (client) => {
      await client.query('select pg_advisory_xact_lock(hashtext($1))', [`keep one ${job.queue}`]);
      const live = `select from pgboss.job where name = $1 and state < 'completed' limit 1`;
      const { rowCount } = await client.query(live, [job.queue]);
      if (rowCount === 0) await this.enqueue(client, [job]);
    });
  }

  async remove(client: pg.ClientBase, queue: QueueName, ids: readonly string[]): Promise<void> {
    await this.boss.deleteJob(queue, [...ids], { db: this.#joining(client) });
  }

  /**
   * Ends a job, in one commit with all that end at the same time. A job with an expired claim belongs to another
   * worker and stays.
   */
  async finish(finished: FinishedJob): Promise<void> {
    await this.#finishes.submit(finished);
  }

  async #finishAll(client: pg.ClientBase, finished: readonly FinishedJob[]): Promise<true[]> {
    for (const [queue, ended] of Map.groupBy(finished, ({ queue }) => queue)) {
      const attempts = ended.map(({ attempt }) => attempt);
      await this.boss.deleteJob(queue, attempts, { db: this.#joining(client) });
    }
    const again = finished.flatMap((ended) => ended.again ?? []);
    if (again.length > 0) await this.enqueue(client, again);
    return finished.map(() => true as const);
  }

  /** Moves a job that no retry can complete to the dead letters, with the reason. */
  async giveUp(queue: QueueName, attempt: FinishedJob['attempt'], reason: string): Promise<void> {
    await inTransaction(this.#database, async (client) => {
      // pg-boss gives up a job that has no retries left, and keeps the name of its queue.
      const last = 'update pgboss.job set retry_limit = retry_count, dead_letter = $3 where name = $1 and id = $2';
      await client.query(last, [queue, attempt.id, DEAD_LETTERS]);
      const joining = { db: this.#joining(client) };
      await this.boss.fail(queue, attempt, { reason }, joining);
      await this.boss.deleteJob(queue, attempt.id, joining);
    });
  }

  /** Returns dead letters to their queues with all their retries. @returns the number of moved jobs */
  async redrive(which: { readonly ids?: string[]; readonly queue?: QueueName }): Promise<number> {
    const filter = { ...(which.ids && { ids: which.ids }), ...(which.queue && { sourceName: which.queue }) };
    let moved = 0;
    for (;;) {
      const count = await this.boss.redrive(DEAD_LETTERS, { ...filter, limit: REDRIVEN_AT_ONCE });
      moved += count;
      if (count < REDRIVEN_AT_ONCE) return moved;
    }
  }

  /**
   * pg-boss uses the connection of the commit. Its statements repeat, so they are named and planned once. It may first
   * read the properties of a queue, on another connection. If the commit has failed meanwhile, the connection can already
   * belong to the commit of other writes, which a statement must not join, or to none, where it would be stored alone.
   */
  #joining(client: pg.ClientBase) {
    const transaction = openTransaction(client);
    return {
      executeSql: async (text: string, values?: unknown[]) => {
        if (!transaction || openTransaction(client) !== transaction)
          throw new Error('the commit of these jobs has ended');
        return client.query({ ...namedStatement(text), values: values ?? [] });
      },
    };
  }

  async close(): Promise<void> {
    await this.#finishes.idle();
    await this.boss.stop({ graceful: false, close: false });
  }
}

/** Jobs that wait for a switch have a group, so that a poll can leave those of one acquirer. */
function groupOf(queue: QueueName, data: StorableJob['data'], group: string | undefined): { group?: { id: string } } {
  if (group !== undefined) return { group: { id: group } };
  if (!PACES[queue].isShared || !('acquirerId' in data)) return {};
  return { group: { id: groupOfAcquirer(data.acquirerId) } };
}

/** The credits of a queue, shared among the acquirers of its jobs. */
export class FairShares {
  readonly #shares: Shares;
  /** Groups of the jobs in progress. */
  readonly #groups = new Map<number, Set<string>>();

  constructor(credits: number) {
    this.#shares = new Shares(credits);
  }

  /** @param group of the job; that of its acquirer by default */
  hold(acquirerId: number, group?: string | null): void {
    this.#shares.hold(acquirerId);
    const groups = this.#groups.get(acquirerId) ?? new Set([groupOfAcquirer(acquirerId)]);
    this.#groups.set(acquirerId, groups.add(group ?? groupOfAcquirer(acquirerId)));
  }

  /** @returns whether the acquirer was at its share until now */
  release(acquirerId: number): boolean {
    const wasAtShare = this.isAtShare(acquirerId);
    this.#shares.release(acquirerId);
    if (!this.#shares.held.has(acquirerId)) this.#groups.delete(acquirerId);
    return wasAtShare;
  }

  isAtShare(acquirerId: number): boolean {
    return this.#shares.isAtShare(acquirerId);
  }

  /** Groups of the acquirers that are at their share. */
  get groupsAtShare(): string[] {
    return [...this.#groups].flatMap(([acquirerId, groups]) => (this.isAtShare(acquirerId) ? [...groups] : []));
  }

  /**
   * Number of jobs that can be taken now even if all of them turn out to be of one acquirer: the one that holds most below its
   * share.
   */
  get room(): number {
    const { free, held } = this.#shares;
    let most = 0;
    for (const each of held.values()) if (each < free && each > most) most = each;
    return Math.ceil((free - most) / 2);
  }
}

/** The group of jobs that have no other. */
function groupOfAcquirer(acquirerId: number): string {
  return `${acquirerId}`;
}
