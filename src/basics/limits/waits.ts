import { setTimeout as after } from 'node:timers/promises';

/** Work that is repeated until it is stopped. */
export interface Repetition {
  /** Starts a run now instead of at its time, or directly after the current one. */
  runSoon(): void;
  /** Starts no further run; resolves when the current one has ended. */
  stop(): Promise<void>;
}

/**
 * Runs `work` again and again, `everyMs` after the end of the run before, so that slow runs do not overlap. The timer
 * keeps no process alive.
 *
 * @param onError called with what a run throws; the next run follows all the same
 */
export function repeatEvery(
  everyMs: number,
  work: () => Promise<unknown>,
  onError: (error: unknown) => void = () => {},
): Repetition {
  let isStopped = false;
  let isRunning = false;
  let isWanted = false;
  let running: Promise<void> | undefined;
  let timer: NodeJS.Timeout;

  async function run(): Promise<void> {
    isRunning = true;
    isWanted = false;
    try {
      await work();
    } catch (error) {
      onError(error);
    } finally {
      isRunning = false;
      if (!isStopped) schedule(isWanted ? 0 : everyMs);
    }
  }

  function schedule(inMs: number): void {
    timer = setTimeout(() => {
      running = run();
    }, inMs).unref();
  }

  schedule(everyMs);
  return {
    runSoon: () => {
      isWanted = true;
      if (isRunning || isStopped) return;
      clearTimeout(timer);
      schedule(0);
    },
    stop: async () => {
      isStopped = true;
      clearTimeout(timer);
      await running;
    },
  };
}

const TIMEOUT = 'TimeoutError';

/** Resolves with the promise's value unless it takes too long. @throws Error named `TimeoutError` */
export async function within<Value>(milliseconds: number, promise: Promise<Value>): Promise<Value> {
  const giveUp = new AbortController();
  const timeout = after(milliseconds, undefined, { signal: giveUp.signal, ref: false }).then(() => {
    throw Object.assign(new Error('it took too long'), { name: TIMEOUT });
  });
  timeout.catch(() => {}); // a rejection after the wait has ended is not a fault
  try {
    return await Promise.race([promise, timeout]);
  } finally {
    giveUp.abort();
  }
}

export function isTimeout(error: unknown): boolean {
  return error instanceof Error && error.name === TIMEOUT;
}

/** The bounds of a backoff, both in milliseconds. */
export interface BackoffLimits {
  readonly firstMs: number;
  readonly mostMs: number;
}

/** Every backoff in use has reached its bound after this many doublings; the limit keeps the power finite. */
const MAX_DOUBLINGS = 30;

/**
 * The time to wait before the next attempt: a random time from zero to a bound that doubles with each attempt ("full
 * jitter"). A thousand clients of a restarted switch therefore do not all reconnect at once.
 */
export class Backoff {
  readonly #limits: BackoffLimits;
  readonly #random: () => number;
  #attempts = 0;

  /** @param random returns a number from 0 (inclusive) to 1 (exclusive) */
  constructor(limits: BackoffLimits, random: () => number = Math.random) {
    this.#limits = limits;
    this.#random = random;
  }

  nextDelayMs(): number {
    const boundMs = Math.min(this.#limits.mostMs, this.#limits.firstMs * 2 ** this.#attempts);
    this.#attempts = Math.min(this.#attempts + 1, MAX_DOUBLINGS);
    return this.#random() * boundMs;
  }

  /**
   * Call this only after the connection has proved to work. Otherwise a switch that accepts and drops connections
   * would be flooded.
   */
  reset(): void {
    this.#attempts = 0;
  }
}
