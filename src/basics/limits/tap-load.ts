/**
 * How many taps a process works on at a time: as many as one commit can carry (group-commit.ts). With more, no commit
 * becomes larger, and each tap waits longer: 512 doubled the latency under overload (test/bench/README.md).
 */
const MOST_WORKED_ON = 256;

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

  constructor(most = MOST_WORKED_ON) {
    this.most = most;
  }

  get count(): number {
    return this.#count;
  }

  /** Whether a new tap must be refused, unless its acquirer has less than its share (tap-shares.ts). */
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
