import { setTimeout as sleep } from 'node:timers/promises';
import type { JobPayloads, QueueName } from '#schemas/jobs';
import { jobPayloads } from '#schemas/jobs';
import type { JobRequest } from '../transactions/model/jobs.ts';
import type { JobTable } from './job-table.ts';

/**
 * What a handler says of its job: finished, or to be tried again at a time of its own (with another payload, if it got on
 * with it), or gone already with a commit of the handler's.
 */
export type JobResult<Payload = unknown> =
  | 'done'
  | 'settled'
  | { readonly againAfterSeconds: number; readonly payload?: Payload };

/** All that was in flight on the lines of a process may have to be reversed at once; beyond it the jobs wait to be found. */
const MAX_AHEAD = 10_000;
/** As long as a database takes to come back as a rule; then the claim expires. */
const MOST_GIVE_BACKS = 30;
const GIVE_BACK_AGAIN_MS = 1_000;

/** One of the credits of a pump, as its job sees it. */
export interface Hand {
  /** Lets another job have it while this one has nothing to do but wait. False when too many wait like that already. */
  release(): boolean;
}

export interface PumpOptions<Queue extends QueueName> {
  readonly queue: Queue;
  /** How many jobs may be worked on at once. */
  readonly credits: number;
  /** The longest a ready job lies unseen. */
  readonly pollMs: number;
  /** For a queue that must not have its way: how many jobs one look may take; the next look is then a poll later. */
  readonly ration?: () => number;
  /** How many jobs more may be worked on that have released their hands; none unless given. */
  readonly released?: number;
  readonly handle: (payload: JobPayloads[Queue], jobId: string, hand: Hand) => Promise<JobResult<JobPayloads[Queue]>>;
  /** `asked`: of the job that failed; nothing when none could be taken. */
  readonly onError: (error: unknown, queue: QueueName, asked?: JobPayloads[QueueName]) => void;
}

/**
 * Takes jobs as fast as there are hands for them, and no faster: each free credit may fetch one job, and each job
 * settles on its own, so one slow switch never stalls its neighbours (`boss.work` awaits its whole batch).
 */
export class Pump<Queue extends QueueName> {
  readonly #table: JobTable;
  readonly #options: PumpOptions<Queue>;
  readonly #running = new Set<Promise<void>>();
  /** How many of those that run have released their hands. */
  #released = 0;
  readonly #ahead: (() => Promise<unknown>)[] = [];
  #timer: NodeJS.Timeout | undefined;
  #fetching: Promise<number> | undefined;
  #isStopped = false;
  #wasWoken = false;

  constructor(table: JobTable, options: PumpOptions<Queue>) {
    this.#table = table;
    this.#options = options;
    void this.#turn();
  }

  /** There may be work: look now instead of at the next poll. */
  wake(): void {
    this.#wasWoken = true;
    void this.#turn();
  }

  /** Does what a job of this queue asks for ahead of its turn, as soon as a hand is free. The job stays, and finds it done. */
  runAhead(work: () => Promise<unknown>): void {
    if (this.#isStopped || this.#ahead.length >= MAX_AHEAD) return;
    this.#ahead.push(work);
    this.#startAhead();
  }

  #startAhead(): void {
    while (this.#ahead.length > 0 && this.#free > 0) this.#track(this.#ahead.shift()!());
  }

  get #free(): number {
    return this.#options.credits - (this.#running.size - this.#released);
  }

  get busy(): number {
    return this.#running.size;
  }

  /** Takes no more jobs and resolves when those at hand are settled. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    this.#ahead.length = 0;
    clearTimeout(this.#timer);
    await this.#fetching?.catch(() => {}); // whatever it takes yet is at hand, too
    await Promise.all(this.#running);
  }

  async #turn(): Promise<void> {
    if (this.#fetching || this.#isStopped) return;
    clearTimeout(this.#timer);
    this.#wasWoken = false;
    let taken = 0;
    const { credits, ration, pollMs } = this.#options;
    const free = Math.min(this.#free, ration?.() ?? credits);
    try {
      if (free > 0) {
        this.#fetching = this.#take(free);
        taken = await this.#fetching;
      }
    } catch (error) {
      this.#options.onError(error, this.#options.queue);
    }
    this.#fetching = undefined;
    if (this.#isStopped) return;
    const isEager = ration === undefined && (taken > 0 || (this.#wasWoken && free > 0));
    if (isEager) setImmediate(() => void this.#turn());
    else this.#timer = setTimeout(() => void this.#turn(), pollMs);
  }

  async #take(free: number): Promise<number> {
    const { queue } = this.#options;
    const jobs = await this.#table.boss.fetch<unknown>(queue, { batchSize: free, includeMetadata: true });
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

  async #work(job: { id: string; retryCount: number; data: unknown }): Promise<void> {
    const { queue, handle } = this.#options;
    const attempt = { id: job.id, retryCount: job.retryCount };
    const payload = jobPayloads[queue].safeParse(job.data);
    if (!payload.success) {
      const reason = payload.error.issues.map(({ path, message }) => `${path.join('.')}: ${message}`).join('; ');
      await this.#table.giveUp(queue, attempt, reason);
      return;
    }
    const hand = this.#hand();
    try {
      const result = await handle(payload.data as JobPayloads[Queue], job.id, hand);
      if (result === 'settled') return;
      const again = result === 'done' ? undefined : jobAgain(queue, payload.data as JobPayloads[Queue], result);
      await this.#table.settle({ queue, attempt, again });
    } catch (error) {
      this.#options.onError(error, queue, payload.data);
      await this.#giveBack(attempt, error instanceof Error ? error.name : 'unknown');
    } finally {
      hand.end();
    }
  }

  /** While the database takes nothing, again and again: without it the job would be nobody's until its claim expires. */
  async #giveBack(attempt: { id: string; retryCount: number }, reason: string): Promise<void> {
    const { queue } = this.#options;
    for (let tries = 1; ; tries++) {
      try {
        await this.#table.boss.fail(queue, attempt, { reason });
        return;
      } catch (error) {
        if (tries === MOST_GIVE_BACKS || this.#isStopped) throw error;
      }
      await sleep(GIVE_BACK_AGAIN_MS);
    }
  }

  #hand(): Hand & { end(): void } {
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
  { againAfterSeconds, payload = before }: Extract<JobResult<JobPayloads[Queue]>, object>,
): JobRequest {
  return { queue, data: payload, startAfterSeconds: againAfterSeconds } as JobRequest;
}
