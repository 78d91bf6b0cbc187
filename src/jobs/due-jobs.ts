import type { QueueName } from '#schemas/jobs';
import type { JobTable } from './job-table.ts';

/** A queue is also asked about if this share of its interval has passed, so that few statements serve all. */
const EARLY = 3 / 4;

interface Watched {
  readonly everyMs: number;
  readonly onDue: () => void;
  /** When the queue was last asked about, on the monotonic clock. */
  askedAtMs: number;
}

/**
 * Finds jobs that are due for pumps without work. One statement asks about many queues, because the pumps of a process
 * would together poll 24 times a second, and Postgres plans pg-boss's fetch at each poll, which takes longer than to
 * run it.
 */
export class DueJobs {
  readonly #table: Pick<JobTable, 'queuesWithDueJobs'>;
  readonly #onError: (error: unknown) => void;
  readonly #watched = new Map<QueueName, Watched>();
  #timer: NodeJS.Timeout | undefined;
  #asking: Promise<void> | undefined;
  #hasAsked = false;
  #isStopped = false;

  constructor(table: Pick<JobTable, 'queuesWithDueJobs'>, onError: (error: unknown) => void) {
    this.#table = table;
    this.#onError = onError;
  }

  /**
   * Calls `onDue` once, at most about `everyMs` after the queue has a job that is due, unless `unwatch` comes first.
   * The first watchers are served at once: they may have jobs from before the process started.
   */
  watch(queue: QueueName, everyMs: number, onDue: () => void): void {
    const askedAtMs = this.#hasAsked ? performance.now() : Number.NEGATIVE_INFINITY;
    this.#watched.set(queue, { everyMs, onDue, askedAtMs });
    this.#schedule();
  }

  unwatch(queue: QueueName): void {
    this.#watched.delete(queue);
  }

  /** Resolves when no statement is in progress. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    clearTimeout(this.#timer);
    await this.#asking;
  }

  #schedule(): void {
    clearTimeout(this.#timer);
    if (this.#asking || this.#isStopped || this.#watched.size === 0) return;
    const nextAtMs = Math.min(...[...this.#watched.values()].map(({ askedAtMs, everyMs }) => askedAtMs + everyMs));
    this.#timer = setTimeout(() => void this.#ask(), Math.max(0, nextAtMs - performance.now()));
  }

  async #ask(): Promise<void> {
    this.#hasAsked = true;
    const nowMs = performance.now();
    const asked = [...this.#watched].filter(([, { askedAtMs, everyMs }]) => nowMs >= askedAtMs + everyMs * EARLY);
    for (const [, watched] of asked) watched.askedAtMs = nowMs;
    this.#asking = this.#respond(new Map(asked));
    await this.#asking;
    this.#asking = undefined;
    this.#schedule();
  }

  async #respond(asked: ReadonlyMap<QueueName, Watched>): Promise<void> {
    try {
      for (const queue of await this.#table.queuesWithDueJobs([...asked.keys()])) {
        const watched = asked.get(queue)!;
        if (this.#watched.get(queue) !== watched) continue; // its pump has been woken in the meantime
        this.#watched.delete(queue);
        watched.onDue();
      }
    } catch (error) {
      this.#onError(error);
    }
  }
}
