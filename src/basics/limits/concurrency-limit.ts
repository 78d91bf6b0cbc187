import { Overloaded } from '../errors.ts';

/** A request has to be answered within 30 s, and its work takes a few of them. */
const WAIT_AT_MOST_MS = 20_000;

export interface ConcurrencyLimits {
  readonly atOnce: number;
  readonly waitMost: number;
  /** How many calls of one owner may wait; the default is `waitMost`. */
  readonly waitMostOfOne?: number;
  readonly waitAtMostMs?: number;
}

/** Calls that wait, from the oldest on. */
type Queue = Set<() => void>;

/**
 * Limits expensive work: a fixed number of calls run at a time, a fixed number wait for a fixed time, and the rest are
 * refused. How long a call takes depends on the load of the machine, so the number alone does not limit the time. The
 * owners of waiting calls take turns, so a tenant with many calls delays another tenant's call by one call.
 */
export class ConcurrencyLimit {
  readonly #atOnce: number;
  readonly #waitMost: number;
  readonly #waitMostOfOne: number;
  readonly #waitAtMostMs: number;
  /** By owner, in the order of their turns. None is empty. */
  readonly #queues = new Map<string, Queue>();
  #waiting = 0;
  #running = 0;

  constructor({ atOnce, waitMost, waitMostOfOne = waitMost, waitAtMostMs = WAIT_AT_MOST_MS }: ConcurrencyLimits) {
    this.#atOnce = atOnce;
    this.#waitMost = waitMost;
    this.#waitMostOfOne = waitMostOfOne;
    this.#waitAtMostMs = waitAtMostMs;
  }

  /**
   * @param owner whose turn the call takes
   * @throws Overloaded if the queue is full, or none of the calls before it has ended in time
   */
  async run<Result>(work: () => Promise<Result>, owner = ''): Promise<Result> {
    if (this.#running >= this.#atOnce) await this.#wait(owner);
    else this.#running++;
    try {
      return await work();
    } finally {
      this.#passOn();
    }
  }

  /** A finished call passes its slot to the next owner's oldest call, so no new call can take it. */
  #passOn(): void {
    const [next] = this.#queues;
    if (next === undefined) {
      this.#running--;
      return;
    }
    const [owner, queue] = next;
    this.#queues.delete(owner);
    if (queue.size > 1) this.#queues.set(owner, queue);
    const [start] = queue;
    start!();
  }

  #wait(owner: string): Promise<void> {
    const queue: Queue = this.#queues.get(owner) ?? new Set();
    if (this.#waiting >= this.#waitMost || queue.size >= this.#waitMostOfOne) throw new Overloaded();
    this.#queues.set(owner, queue);
    this.#waiting++;
    return new Promise((resolve, reject) => {
      const leave = () => {
        clearTimeout(timer);
        queue.delete(start);
        this.#waiting--;
      };
      const start = () => {
        leave();
        resolve();
      };
      const timer = setTimeout(() => {
        leave();
        if (queue.size === 0) this.#queues.delete(owner);
        reject(new Overloaded());
      }, this.#waitAtMostMs);
      queue.add(start);
    });
  }
}
