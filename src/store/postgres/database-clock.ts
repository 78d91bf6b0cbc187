import type { Clock } from '../../transactions/ports/process-ports.ts';
import type { Database } from './open-database.ts';

/** A crystal drifts by 50 ppm at most: half a millisecond between two looks. */
const LOOK_EVERY_MS = 10_000;

type Monotonic = () => number;

/**
 * The wall clock of a process, kept in step with the database's. What one process records (DE7, the time of a sale, the end of
 * a link or token) another one or the database judges, so a node whose own clock is minutes off must not date anything by it.
 *
 * Between two looks it runs on the monotonic clock, so a jump of the node's clock changes nothing, and a database that is
 * unavailable stops nothing. What must be exact (deadlines, the outcome of a race) is decided in SQL all the same.
 */
export class DatabaseClock implements Clock {
  readonly monotonicMs: Monotonic;
  readonly #database: Pick<Database, 'query'>;
  /** To be added to the monotonic clock. */
  #offsetMs = 0;
  #timer: NodeJS.Timeout | undefined;
  #isClosed = false;

  private constructor(database: Pick<Database, 'query'>, monotonicMs: Monotonic) {
    this.#database = database;
    this.monotonicMs = monotonicMs;
  }

  static async open(
    database: Pick<Database, 'query'>,
    monotonicMs: Monotonic = () => performance.now(),
  ): Promise<DatabaseClock> {
    const clock = new DatabaseClock(database, monotonicMs);
    const { earliest, latest } = await clock.#measure();
    clock.#offsetMs = (earliest + latest) / 2;
    clock.#schedule();
    return clock;
  }

  /** A property, since it is handed on without its clock. */
  readonly nowMs = (): number => Math.round(this.monotonicMs() + this.#offsetMs);

  /** Looks at the database's clock once more. */
  async adjust(): Promise<void> {
    const { earliest, latest } = await this.#measure();
    // However long the answer took, the true offset lies in between: one that does, too, is left alone.
    this.#offsetMs = Math.min(Math.max(this.#offsetMs, earliest), latest);
  }

  close(): void {
    this.#isClosed = true;
    clearTimeout(this.#timer);
  }

  async #measure(): Promise<{ readonly earliest: number; readonly latest: number }> {
    const beforeMs = this.monotonicMs();
    const { rows } = await this.#database.query<{ ms: number }>({ name: 'read-clock', text: READ_CLOCK });
    return { earliest: rows[0]!.ms - this.monotonicMs(), latest: rows[0]!.ms - beforeMs };
  }

  #schedule(): void {
    this.#timer = setTimeout(() => {
      this.adjust()
        .catch(() => {}) // readiness tells that the database is unavailable
        .finally(() => this.#isClosed || this.#schedule());
    }, LOOK_EVERY_MS).unref();
  }
}

const READ_CLOCK = 'select (extract(epoch from clock_timestamp()) * 1000)::float8 as ms';
