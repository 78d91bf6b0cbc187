import { Overloaded } from '../errors.ts';

/** Limits expensive work: a fixed number of calls run at a time, a fixed number wait, and the rest are refused. */
export class ConcurrencyLimit {
  readonly #atOnce: number;
  readonly #waitMost: number;
  readonly #waiting: (() => void)[] = [];
  #running = 0;

  constructor({ atOnce, waitMost }: { readonly atOnce: number; readonly waitMost: number }) {
    this.#atOnce = atOnce;
    this.#waitMost = waitMost;
  }

  /** @throws Overloaded if the queue is full */
  async run<Result>(work: () => Promise<Result>): Promise<Result> {
    if (this.#running >= this.#atOnce) {
      if (this.#waiting.length >= this.#waitMost) throw new Overloaded();
      // A finished call passes its slot to the next waiting call, so no new call can take it.
      await new Promise<void>((resolve) => this.#waiting.push(resolve));
    } else this.#running++;
    try {
      return await work();
    } finally {
      const next = this.#waiting.shift();
      if (next) next();
      else this.#running--;
    }
  }
}
