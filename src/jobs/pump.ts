import { setTimeout as sleep } from 'node:timers/promises';
import type { JobPayloads, QueueName } from '#schemas/jobs';
import { jobPayloads } from '#schemas/jobs';
import type { StorableJob } from '../payments/model/decision.ts';
import type { DueJobs } from './due-jobs.ts';
import { FairShares, type JobTable } from './job-table.ts';

/**
 * The result of a handler: the job is finished, must be tried again at a given time (with another payload if it has
 * progressed, or for the processes of another group), or was already removed in a commit of the handler.
 */
export type JobResult<Payload = unknown> =
  | 'done'
  | 'removed'
  | { readonly againAfterSeconds: number; readonly payload?: Payload; readonly group?: string };

/** All requests in flight of a process may have to be reversed at once. Above this number, polls find the jobs. */
const MAX_AHEAD = 10_000;
/** Covers the usual recovery of a database; after that the claim expires. */
const MAX_GIVE_BACKS = 30;
const GIVE_BACK_AGAIN_MS = 1_000;

/** One worker slot of a pump, as its job sees it. */
export interface WorkerSlot {
  /** Lets another job have the slot while this one only waits. False if too many wait like that already. */
  release(): boolean;
}

export interface PumpOptions<Queue extends QueueName> {
  readonly queue: Queue;
  /** Limit of jobs in progress. */
  readonly credits: number;
  /** The longest time until a ready job is noticed. Until then a pump without work leaves its queue to `DueJobs`. */
  readonly pollMs: number;
  /**
   * For a queue with limited use: how many jobs one poll may take. The next poll then follows at the normal interval.
   */
  readonly ration?: () => number;
  /** Limit of further jobs in progress that have released their slots; none by default. */
  readonly released?: number;
  /** The credits are shared among the acquirers of the jobs. */
  readonly isShared?: boolean;
  /** Groups whose jobs are left to other processes. */
  readonly leftToOthers?: (() => readonly string[]) | undefined;
  readonly handle: (
    payload: JobPayloads[Queue],
    jobId: string,
    slot: WorkerSlot,
  ) => Promise<JobResult<JobPayloads[Queue]>>;
  /** `asked` is the payload of the failed job; undefined if none could be taken. */
  readonly onError: (error: unknown, queue: QueueName, asked?: JobPayloads[QueueName]) => void;
}

/**
 * Takes only as many jobs as there are free slots. Each free slot may fetch one job, and each job ends on its own, so
 * one slow switch never delays other jobs (`boss.work` awaits its whole batch).
 */
export class Pump<Queue extends QueueName> {
  readonly #table: JobTable;
  readonly #due: DueJobs;
  readonly #options: PumpOptions<Queue>;
  readonly #running = new Set<Promise<void>>();
  /** Number of running jobs that have released their slots. */
  #released = 0;
  readonly #shares: FairShares | undefined;
  /** Work that waits to be done before its job is taken, by acquirer. */
  readonly #ahead = new Map<number, (() => Promise<unknown>)[]>();
  #aheadCount = 0;
  #timer: NodeJS.Timeout | undefined;
  #fetching: Promise<number> | undefined;
  #isStopped = false;
  #wasWoken = false;

  constructor(table: JobTable, due: DueJobs, options: PumpOptions<Queue>) {
    this.#table = table;
    this.#due = due;
    this.#options = options;
    this.#shares = options.isShared ? new FairShares(options.credits) : undefined;
    this.#rest(false);
  }

  /** Polls now instead of at the next interval, because there may be work. */
  wake(): void {
    this.#wasWoken = true;
    void this.#turn();
  }

  /**
   * Does the work of a job before the job is taken, as soon as a slot is free for its acquirer. The job remains, and finds
   * its work done.
   */
  runAhead(acquirerId: number, work: () => Promise<unknown>): void {
    if (this.#isStopped || this.#aheadCount >= MAX_AHEAD) return;
    this.#aheadCount++;
    const works = this.#ahead.get(acquirerId);
    if (works) works.push(work);
    else this.#ahead.set(acquirerId, [work]);
    this.#startAhead();
  }

  #startAhead(): void {
    for (const [acquirerId, works] of this.#ahead) {
      while (works.length > 0 && this.#free > 0 && !this.#shares?.isAtShare(acquirerId)) {
        this.#aheadCount--;
        this.#track(this.#withShare(acquirerId, undefined, works.shift()!));
      }
      if (works.length === 0) this.#ahead.delete(acquirerId);
    }
  }

  async #withShare<Result>(
    acquirerId: number,
    group: string | null | undefined,
    work: () => Promise<Result>,
  ): Promise<Result> {
    this.#shares?.hold(acquirerId, group);
    try {
      return await work();
    } finally {
      // The acquirer may have more jobs that the last poll has left.
      const isAwaited = this.#shares?.release(acquirerId) ?? false;
      if (isAwaited && this.#options.ration === undefined) this.wake();
    }
  }

  get #free(): number {
    return this.#options.credits - (this.#running.size - this.#released);
  }

  get busy(): number {
    return this.#running.size;
  }

  /** Takes no further jobs and resolves when those in progress have ended. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    this.#ahead.clear();
    this.#endRest();
    await this.#fetching?.catch(() => {}); // jobs that it still takes are in progress, too
    await Promise.all(this.#running);
  }

  async #turn(): Promise<void> {
    if (this.#fetching || this.#isStopped) return;
    this.#endRest();
    this.#wasWoken = false;
    let taken = 0;
    const { credits, ration } = this.#options;
    const free = Math.min(this.#free, ration?.() ?? credits, this.#shares?.room ?? credits);
    try {
      if (free > 0) {
        this.#fetching = this.#take(free);
        taken = await this.#fetching;
        if (taken > 0) this.#due.hadWork(this.#options.queue);
      }
    } catch (error) {
      this.#options.onError(error, this.#options.queue);
    }
    this.#fetching = undefined;
    if (this.#isStopped) return;
    const isEager = ration === undefined && (taken > 0 || (this.#wasWoken && free > 0));
    if (isEager) setImmediate(() => void this.#turn());
    else this.#rest(taken > 0 || free <= 0 || (this.#shares?.groupsAtShare.length ?? 0) > 0);
  }

  /** Until the next poll: for the whole interval if jobs are left, otherwise until one is due. */
  #rest(areJobsLeft: boolean): void {
    const { queue, pollMs } = this.#options;
    const turn = () => void this.#turn();
    if (areJobsLeft) this.#timer = setTimeout(turn, pollMs);
    else this.#due.watch(queue, pollMs, turn);
  }

  #endRest(): void {
    clearTimeout(this.#timer);
    this.#due.unwatch(this.#options.queue);
  }

  async #take(free: number): Promise<number> {
    const { queue, leftToOthers } = this.#options;
    const left = [...(leftToOthers?.() ?? []), ...(this.#shares?.groupsAtShare ?? [])];
    const options = { batchSize: free, includeMetadata: true, ...(left.length > 0 && { ignoreGroups: left }) } as const;
    const jobs = await this.#table.boss.fetch<unknown>(queue, options);
    for (const job of jobs) this.#track(this.#work(job));
    return jobs.length;
  }

  #track(work: Promise<unknown>): void {
    const { ration, queue, onError } = this.#options;
    const running: Promise<void> = work.then(
      () => {},
      (error) => onError(error, queue),
    );
    this.#running.add(running);
    void running.finally(() => {
      this.#running.delete(running);
      this.#startAhead();
      if (this.#free === 1 && ration === undefined) this.wake();
    });
  }

  async #work(job: { id: string; retryCount: number; data: unknown; groupId?: string | null }): Promise<void> {
    const { queue, handle } = this.#options;
    const attempt = { id: job.id, retryCount: job.retryCount };
    const payload = jobPayloads[queue].safeParse(job.data);
    if (!payload.success) {
      const reason = payload.error.issues.map(({ path, message }) => `${path.join('.')}: ${message}`).join('; ');
      await this.#table.giveUp(queue, attempt, reason);
      return;
    }
    const slot = this.#newSlot();
    const asked = payload.data as JobPayloads[Queue];
    try {
      const result =
        'acquirerId' in asked
          ? await this.#withShare(asked.acquirerId, job.groupId, () => handle(asked, job.id, slot))
          : await handle(asked, job.id, slot);
      if (result === 'removed') return;
      const again = result === 'done' ? undefined : jobAgain(queue, asked, result);
      await this.#table.finish({ queue, attempt, again });
    } catch (error) {
      this.#options.onError(error, queue, asked);
      await this.#giveBack(attempt, error instanceof Error ? error.name : 'unknown');
    } finally {
      slot.end();
    }
  }

  /** Retries while the database is unavailable: otherwise no worker would have the job until its claim expires. */
  async #giveBack(attempt: { id: string; retryCount: number }, reason: string): Promise<void> {
    const { queue } = this.#options;
    for (let tries = 1; ; tries++) {
      try {
        await this.#table.boss.fail(queue, attempt, { reason });
        return;
      } catch (error) {
        if (tries === MAX_GIVE_BACKS || this.#isStopped) throw error;
      }
      await sleep(GIVE_BACK_AGAIN_MS);
    }
  }

  #newSlot(): WorkerSlot & { end(): void } {
    let isReleased = false;
    return {
      release: () => {
        if (isReleased) return true;
        if (this.#released >= (this.#options.released ?? 0)) return false;
        isReleased = true;
        this.#released++;
        return true;
      },
      end: () => {
        if (isReleased) this.#released--;
        isReleased = false;
      },
    };
  }
}

function jobAgain<Queue extends QueueName>(
  queue: Queue,
  before: JobPayloads[Queue],
  { againAfterSeconds, payload = before, group }: Extract<JobResult<JobPayloads[Queue]>, object>,
): StorableJob {
  return { queue, data: payload, startAfterSeconds: againAfterSeconds, ...(group && { group }) } as StorableJob;
}
