import type { JobTable } from './job-table.ts';
import type { WorkName } from './queues.ts';

/** A queue is also asked about if this share of its interval has passed, so that few statements serve all. */
const EARLY = 3 / 4;
/** A queue that had work may have more: an endpoint or a switch that has recovered gets it second by second. */
const LIVELY_MS = 10_000;
/** A noted job is committed by then, and found. */
const NOTED_MS = 3_000;
/** Jobs later than this are found without a note. */
const MAX_NOTED_SECONDS = 600;
/** Of one queue. Fewer are in use, each for another second. */
const MAX_NOTES = 1_024;
/** Interval at which a process without work looks for jobs of other processes. */
const SELDOM_MS = 2_000;
/** For a queue that was never asked about. */
const LONG_AGO_MS = -1e9;

interface Watched {
  /** While the queue is lively. */
  readonly everyMs: number;
  readonly onDue: () => void;
  /** When the queue was last asked about, on the monotonic clock. */
  askedAtMs: number;
}

/**
 * Finds jobs that are due for pumps without work. One statement asks about many queues, because the pumps of a process
 * would together poll 24 times a second, and Postgres plans pg-boss's fetch at each poll, which takes longer than to
 * run it. A queue is asked about at its own interval when this process has inserted a job that is due, or had work
 * lately; otherwise seldom.
 */
export class DueJobs {
  readonly #table: Pick<JobTable, 'queuesWithDueJobs'>;
  readonly #onError: (error: unknown) => void;
  readonly #seldomMs: number;
  readonly #watched = new Map<WorkName, Watched>();
  /** When queues last had a job that was due. */
  readonly #livelyAtMs = new Map<WorkName, number>();
  /** The seconds in which inserted jobs are due. */
  readonly #noted = new Map<WorkName, Set<number>>();
  #timer: NodeJS.Timeout | undefined;
  #asking: Promise<void> | undefined;
  #hasAsked = false;
  #isStopped = false;

  /** @param seldomMs 0 if other processes insert most jobs: each queue is then asked about at its own interval */
  constructor(
    table: Pick<JobTable, 'queuesWithDueJobs'>,
    onError: (error: unknown) => void,
    seldomMs: number = SELDOM_MS,
  ) {
    this.#table = table;
    this.#onError = onError;
    this.#seldomMs = seldomMs;
  }

  /**
   * Calls `onDue` once, at most about `everyMs` after the queue has a job that is due and noted, unless `unwatch` comes
   * first. The first watchers are served at once: they may have jobs from before the process started.
   */
  watch(queue: WorkName, everyMs: number, onDue: () => void): void {
    const askedAtMs = this.#hasAsked ? performance.now() : LONG_AGO_MS;
    this.#watched.set(queue, { everyMs, onDue, askedAtMs });
    this.#schedule();
  }

  /** A job that is due in `inSeconds` is being inserted. */
  note(queue: WorkName, inSeconds: number): void {
    if (this.#seldomMs === 0 || inSeconds > MAX_NOTED_SECONDS) return;
    const noted = this.#noted.get(queue) ?? new Set();
    const second = Math.floor(performance.now() / 1_000 + inSeconds);
    if (noted.has(second)) return;
    if (noted.size >= MAX_NOTES) this.#notedAtMs(queue); // forgets the past ones
    this.#noted.set(queue, noted.add(second));
    if (this.#watched.has(queue)) this.#schedule();
  }

  unwatch(queue: WorkName): void {
    this.#watched.delete(queue);
  }

  /** The queue is lively from now on. */
  hadWork(queue: WorkName): void {
    this.#livelyAtMs.set(queue, performance.now());
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
    const nextAtMs = Math.min(...[...this.#watched].map(([queue, watched]) => this.#nextAtMs(queue, watched)));
    this.#timer = setTimeout(() => void this.#ask(), Math.max(0, nextAtMs - performance.now()));
  }

  #nextAtMs(queue: WorkName, { askedAtMs, everyMs }: Watched): number {
    const soonAtMs = askedAtMs + everyMs;
    const seldomAtMs = askedAtMs + this.#seldomMs;
    const livelyUntilMs = (this.#livelyAtMs.get(queue) ?? LONG_AGO_MS) + LIVELY_MS;
    if (soonAtMs >= seldomAtMs || soonAtMs < livelyUntilMs) return soonAtMs;
    return Math.max(soonAtMs, Math.min(seldomAtMs, this.#notedAtMs(queue)));
  }

  /** When the next noted job is due; in the past while it may not be committed. */
  #notedAtMs(queue: WorkName): number {
    const noted = this.#noted.get(queue) ?? [];
    const committedAtMs = performance.now() - NOTED_MS;
    let next = Number.POSITIVE_INFINITY;
    for (const second of noted) {
      if (second * 1_000 >= committedAtMs) next = Math.min(next, second);
      else this.#noted.get(queue)!.delete(second);
    }
    return next * 1_000;
  }

  async #ask(): Promise<void> {
    this.#hasAsked = true;
    const nowMs = performance.now();
    const asked = [...this.#watched].filter(([queue, watched]) => {
      const { askedAtMs } = watched;
      return nowMs >= askedAtMs + (this.#nextAtMs(queue, watched) - askedAtMs) * EARLY;
    });
    for (const [, watched] of asked) watched.askedAtMs = nowMs;
    this.#asking = this.#respond(new Map(asked));
    await this.#asking;
    this.#asking = undefined;
    this.#schedule();
  }

  async #respond(asked: ReadonlyMap<WorkName, Watched>): Promise<void> {
    try {
      for (const queue of await this.#table.queuesWithDueJobs([...asked.keys()])) {
        const watched = asked.get(queue)!;
        if (this.#watched.get(queue) !== watched) continue; // its pump has been woken in the meantime
        this.#watched.delete(queue);
        this.hadWork(queue);
        watched.onDue();
      }
    } catch (error) {
      this.#onError(error);
    }
  }
}
