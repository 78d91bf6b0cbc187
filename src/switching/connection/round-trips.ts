/** Upper bounds of the histogram in milliseconds. One more bucket counts what is slower. */
export const ROUND_TRIP_BOUNDS_MS = [
  1, 2, 5, 10, 20, 50, 100, 200, 500, 1_000, 2_000, 5_000, 10_000, 20_000, 30_000, 60_000,
] as const;

export interface RoundTripHistogram {
  /** Upper bounds of the buckets in milliseconds, inclusive. */
  readonly boundsMs: readonly number[];
  /** Number of round trips in each bucket; one bucket more than there are bounds. */
  readonly counts: readonly number[];
  readonly count: number;
  readonly sumMs: number;
}

/** Response times, from the write of the request to the reading of the response. */
export class RoundTrips {
  readonly #counts = new Array<number>(ROUND_TRIP_BOUNDS_MS.length + 1).fill(0);
  #count = 0;
  #sumMs = 0;

  record(roundTripMs: number): void {
    let bucket = 0;
    while (bucket < ROUND_TRIP_BOUNDS_MS.length && roundTripMs > ROUND_TRIP_BOUNDS_MS[bucket]!) bucket++;
    this.#counts[bucket]!++;
    this.#count++;
    this.#sumMs += roundTripMs;
  }

  snapshot(): RoundTripHistogram {
    return { boundsMs: ROUND_TRIP_BOUNDS_MS, counts: [...this.#counts], count: this.#count, sumMs: this.#sumMs };
  }
}
