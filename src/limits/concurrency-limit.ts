import { Overloaded } from '../errors.ts';

/** Work that is too dear to be done for everybody at once: so many at a time, so many more wait, the rest are sent away. */
export class ConcurrencyLimit {
  readonly #atOnce: number;
  readonly #waitMost: number;
  readonly #waiting: (() => void)[] = [];
  #running = 0;

  constructor({ atOnce, waitMost }: { readonly atOnce: number; readonly waitMost: number }) {
    this.#atOnce = atOnce;
    this.#waitMost = waitMost;
  }

  /** @throws Overloaded when the line is full */
  async run<Result>(work: () => Promise<Result>): Promise<Result> {
    if (this.#running >= this.#atOnce) {
      if (this.#waiting.length >= this.#waitMost) throw new Overloaded();
      // Whoever is done hands its place on, so nobody slips in between.
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
