import type { OpenAttempts, OverdueAttempt } from '../store/transactions/open-attempts.ts';
import type { DueJobs } from './due-jobs.ts';
import { RECENT_MINUTES } from './queues.ts';

/** Limit of attempts that one statement takes. Each needs a commit or two, and no switch. */
const MAX_TAKEN = 64;
/** While attempts are overdue, more may follow this soon. */
const POLL_MS = 500;

/** The result of a decision: the transaction rests, or when to look again. */
export type OverdueResult = 'rests' | { readonly againAfterSeconds: number };

/**
 * Decides attempts that are overdue. The time of each is in `open_attempts`, which the statements that store and end an
 * attempt write as well. Nearly every attempt ends long before its time, so a job would be inserted only to be deleted.
 */
export class OverdueAttempts {
  readonly #attempts: Pick<OpenAttempts, keyof OpenAttempts>;
  readonly #due: DueJobs;
  readonly #decide: (attempt: OverdueAttempt) => Promise<OverdueResult>;
  readonly #onError: (error: unknown, attempt?: OverdueAttempt) => void;
  #running: Promise<void> = Promise.resolve();
  #timer: NodeJS.Timeout | undefined;
  #isStopped = false;

  /** @param onError called with the attempt that could not be decided, or without one if none could be taken */
  constructor(
    attempts: Pick<OpenAttempts, keyof OpenAttempts>,
    due: DueJobs,
    decide: (attempt: OverdueAttempt) => Promise<OverdueResult>,
    onError: (error: unknown, attempt?: OverdueAttempt) => void,
  ) {
    this.#attempts = attempts;
    this.#due = due;
    this.#decide = decide;
    this.#onError = onError;
    this.#start(); // attempts from before the process started may be old
  }

  /** Takes no further attempts and resolves when those in progress have ended. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    this.#endRest();
    await this.#running;
  }

  #start(): void {
    this.#endRest();
    this.#running = this.#work().finally(() => this.#rest());
  }

  #rest(): void {
    if (this.#isStopped) return;
    this.#due.watch('overdue', POLL_MS, () => this.#start());
    this.#timer = setTimeout(() => this.#start(), RECENT_MINUTES * 60_000).unref();
  }

  #endRest(): void {
    clearTimeout(this.#timer);
    this.#due.unwatch('overdue');
  }

  async #work(): Promise<void> {
    try {
      let taken: OverdueAttempt[];
      do {
        taken = await this.#attempts.takeOverdue(MAX_TAKEN);
        await Promise.all(taken.map((attempt) => this.#end(attempt)));
      } while (taken.length === MAX_TAKEN && !this.#isStopped);
    } catch (error) {
      this.#onError(error);
    }
  }

  /** An attempt that cannot be decided is given to a worker again after the time for which this one has it. */
  async #end(attempt: OverdueAttempt): Promise<void> {
    try {
      const result = await this.#decide(attempt);
      if (result === 'rests') await this.#attempts.close(attempt);
      else await this.#attempts.postpone(attempt, result.againAfterSeconds);
    } catch (error) {
      this.#onError(error, attempt);
    }
  }
}
