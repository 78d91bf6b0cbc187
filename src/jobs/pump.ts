import type { JobPayloads, QueueName } from '#schemas/jobs';
import { jobPayloads } from '#schemas/jobs';
import type { JobTable } from './job-table.ts';
import { DEAD_LETTERS } from './queues.ts';

/** What a handler says of its job: finished, or to be tried again at a time of its own. */
export type JobResult = 'done' | { readonly againAfterSeconds: number };

export interface PumpOptions<Queue extends QueueName> {
  readonly queue: Queue;
  /** How many jobs may be worked on at once. */
  readonly credits: number;
  /** The longest a ready job lies unseen. */
  readonly pollMs: number;
  readonly handle: (payload: JobPayloads[Queue]) => Promise<JobResult>;
  readonly onError: (error: unknown, queue: QueueName) => void;
}

/**
 * Takes jobs as fast as there are hands for them, and no faster: each free credit may fetch one job, and each job
 * settles on its own, so one slow switch never stalls its neighbours (`boss.work` awaits its whole batch).
 */
export class Pump<Queue extends QueueName> {
  readonly #table: JobTable;
  readonly #options: PumpOptions<Queue>;
  readonly #running = new Set<Promise<void>>();
  #timer: NodeJS.Timeout | undefined;
  #isFetching = false;
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

  get busy(): number {
    return this.#running.size;
  }

  /** Takes no more jobs and resolves when those at hand are settled. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    clearTimeout(this.#timer);
    await Promise.all(this.#running);
  }

  async #turn(): Promise<void> {
    if (this.#isFetching || this.#isStopped) return;
    clearTimeout(this.#timer);
    this.#isFetching = true;
    this.#wasWoken = false;
    let taken = 0;
    const free = this.#options.credits - this.#running.size;
    try {
      if (free > 0) taken = await this.#take(free);
    } catch (error) {
      this.#options.onError(error, this.#options.queue);
    }
    this.#isFetching = false;
    if (this.#isStopped) return;
    if (taken > 0 || (this.#wasWoken && free > 0)) setImmediate(() => void this.#turn());
    else this.#timer = setTimeout(() => void this.#turn(), this.#options.pollMs);
  }

  async #take(free: number): Promise<number> {
    const { queue } = this.#options;
    const jobs = await this.#table.boss.fetch<unknown>(queue, { batchSize: free, includeMetadata: true });
    for (const job of jobs) {
      const running = this.#work(job).catch((error) => this.#options.onError(error, queue));
      this.#running.add(running);
      void running.finally(() => {
        this.#running.delete(running);
        if (this.#running.size === this.#options.credits - 1) this.wake(); // a hand is free again
      });
    }
    return jobs.length;
  }

  async #work(job: { id: string; retryCount: number; data: unknown }): Promise<void> {
    const { queue, handle } = this.#options;
    const { boss } = this.#table;
    const attempt = { id: job.id, retryCount: job.retryCount };
    const payload = jobPayloads[queue].safeParse(job.data);
    if (!payload.success) {
      const reason = payload.error.issues.map(({ path, message }) => `${path.join('.')}: ${message}`).join('; ');
      await boss.send(DEAD_LETTERS, { queue, jobId: job.id, reason, payload: job.data });
      await boss.deleteJob(queue, attempt);
      return;
    }
    try {
      const result = await handle(payload.data as JobPayloads[Queue]);
      if (result !== 'done') await boss.send(queue, payload.data, { startAfter: result.againAfterSeconds });
      // Settled by attempt: a claim that lapsed meanwhile belongs to somebody else.
      await boss.deleteJob(queue, attempt);
    } catch (error) {
      this.#options.onError(error, queue);
      await boss.fail(queue, attempt, { reason: error instanceof Error ? error.name : 'unknown' });
    }
  }
}
