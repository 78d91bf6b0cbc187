import { Overloaded } from '../errors.ts';

/** A request has to be answered within 30 s, and its work takes a few of them. */
const WAIT_AT_MOST_MS = 20_000;

export interface ConcurrencyLimits {
  readonly atOnce: number;
  readonly waitMost: number;
  readonly waitAtMostMs?: number;
}

/**
 * Limits expensive work: a fixed number of calls run at a time, a fixed number wait for a fixed time, and the rest are
 * refused. How long a call takes depends on the load of the machine, so the number alone does not limit the time.
 */
export class ConcurrencyLimit {
  readonly #atOnce: number;
  readonly #waitMost: number;
  readonly #waitAtMostMs: number;
  readonly #waiting = new Set<() => void>();
  #running = 0;

  constructor({ atOnce, waitMost, waitAtMostMs = WAIT_AT_MOST_MS }: ConcurrencyLimits) {
    this.#atOnce = atOnce;
    this.#waitMost = waitMost;
    this.#waitAtMostMs = waitAtMostMs;
  }

  /** @throws Overloaded if the queue is full, or none of the calls before it has ended in time */
  async run<Result>(work: () => Promise<Result>): Promise<Result> {
    if (this.#running >= this.#atOnce) {
      if (this.#waiting.size >= this.#waitMost) throw new Overloaded();
      await this.#wait();
    } else this.#running++;
    try {
      return await work();
    } finally {
      const [next] = this.#waiting;
      if (next) next();
      else this.#running--;
    }
  }

  /** A finished call passes its slot to the call that has waited longest, so no new call can take it. */
  #wait(): Promise<void> {
    return new Promise((resolve, reject) => {
      const start = () => {
        clearTimeout(timer);
        this.#waiting.delete(start);
        resolve();
      };
      const timer = setTimeout(() => {
        this.#waiting.delete(start);
        reject(new Overloaded());
      }, this.#waitAtMostMs);
      this.#waiting.add(start);
    });
  }
}
