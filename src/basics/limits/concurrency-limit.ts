import { Overloaded } from '../errors.ts';

/** A request must receive a response within 30 s, and its work takes a few of them. */
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
  /** The waiting calls by owner, in the order of their turns. No queue is empty. */
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

/**
 * Makes one run of `work` serve many callers. At most one run is active and one is wanted: calls during a run share the
 * next one, which sees what they have changed before.
 */
export function shareRuns(work: () => Promise<void>): () => Promise<void> {
  let running: Promise<void> | undefined;
  let next: Promise<void> | undefined;

  function start(): Promise<void> {
    next = undefined;
    running = work().finally(() => {
      running = undefined;
    });
    return running;
  }

  return () => {
    if (running === undefined) return next ?? start();
    next ??= running.then(start, start);
    return next;
  };
}

/**
 * How many taps a process works on at a time: as many as one commit can carry (group-commit.ts). With more, no commit
 * becomes larger, and each tap waits longer: 512 doubled the latency under overload (test/bench/README.md).
 */
const MAX_WORKED_ON = 256;

/**
 * Counts the taps that need this process and its database now. A tap that waits for its switch, or for another process,
 * does not count: a slow switch is no reason to refuse the taps of another one, and has its own limit.
 *
 * The number is the signal of an overload, because it grows with every cause: too many requests, a busy machine, a slow
 * or stopped database. Each process counts separately, as it has its own event loop and its own commits.
 */
export class TapLoad {
  readonly most: number;
  #count = 0;

  constructor(most = MAX_WORKED_ON) {
    this.most = most;
  }

  get count(): number {
    return this.#count;
  }

  /** Whether a new tap must be refused, unless its acquirer has less than its share (admit-taps.ts). */
  get isFull(): boolean {
    return this.#count >= this.most;
  }

  /** Whether every new tap must be refused. */
  get isOverfull(): boolean {
    return this.#count >= this.most * 2;
  }

  begin(): void {
    this.#count++;
  }

  end(): void {
    this.#count--;
  }

  /** Does not count the tap while it waits for a switch or another process. */
  async pause<T>(wait: () => Promise<T>): Promise<T> {
    this.#count--;
    try {
      return await wait();
    } finally {
      this.#count++;
    }
  }
}

/**
 * Credits that are shared among holders, which are acquirers or endpoints. A holder gets another credit while it
 * holds fewer than are free. So one that returns none ends with half of them, two end with a third each, and there is always
 * room for another.
 */
export class Shares<Holder = number> {
  readonly #credits: number;
  readonly #held = new Map<Holder, number>();
  #total = 0;

  constructor(credits: number) {
    this.#credits = credits;
  }

  get free(): number {
    return this.#credits - this.#total;
  }

  /** What each holder holds; none of them holds nothing. */
  get held(): ReadonlyMap<Holder, number> {
    return this.#held;
  }

  hold(holder: Holder): void {
    this.#total++;
    this.#held.set(holder, (this.#held.get(holder) ?? 0) + 1);
  }

  release(holder: Holder): void {
    this.#total--;
    const held = this.#held.get(holder)! - 1;
    if (held > 0) this.#held.set(holder, held);
    else this.#held.delete(holder);
  }

  isAtShare(holder: Holder): boolean {
    return (this.#held.get(holder) ?? 0) >= this.free;
  }
}
