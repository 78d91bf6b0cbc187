import { type Repetition, repeatEvery } from '../../basics/limits/waits.ts';
import type { Clock } from '../../payments/ports/transaction-dependencies.ts';
import type { Database } from './open-database.ts';

/** A quartz drifts by at most 50 ppm: half a millisecond between two readings. */
const LOOK_EVERY_MS = 10_000;

type Monotonic = () => number;

/**
 * The wall clock of a process, synchronized with the database's. Another process or the database evaluates the times
 * that one process records (DE7, the time of a sale, the expiry of a link or token), so a node whose own clock is
 * minutes off must not use it for them.
 *
 * Between two readings it runs on the monotonic clock. A jump of the node's clock therefore has no effect, and an
 * unavailable database stops nothing. Times that must be exact (deadlines, the outcome of a race) are nevertheless
 * decided in SQL.
 */
export class DatabaseClock implements Clock {
  readonly monotonicMs: Monotonic;
  readonly #database: Pick<Database, 'query'>;
  /** Added to the monotonic clock. */
  #offsetMs = 0;
  #adjusting: Repetition | undefined;

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
    // Readiness reports that the database is unavailable.
    clock.#adjusting = repeatEvery(LOOK_EVERY_MS, () => clock.adjust());
    return clock;
  }

  /** A property, because it is passed on without its object. */
  readonly nowMs = (): number => Math.round(this.monotonicMs() + this.#offsetMs);

  /** Reads the database's clock again. */
  async adjust(): Promise<void> {
    const { earliest, latest } = await this.#measure();
    // Regardless of the response time, the true offset is between these limits; an offset within them stays
    // unchanged.
    this.#offsetMs = Math.min(Math.max(this.#offsetMs, earliest), latest);
  }

  async close(): Promise<void> {
    await this.#adjusting?.stop();
  }

  async #measure(): Promise<{ readonly earliest: number; readonly latest: number }> {
    const askedAtMs = this.monotonicMs();
    const { rows } = await this.#database.query<{ ms: number }>({ name: 'read-clock', text: READ_CLOCK });
    return { earliest: rows[0]!.ms - this.monotonicMs(), latest: rows[0]!.ms - askedAtMs };
  }
}

const READ_CLOCK = 'select (extract(epoch from clock_timestamp()) * 1000)::float8 as ms';
