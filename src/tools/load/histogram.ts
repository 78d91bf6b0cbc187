/**
 * Counts latencies in buckets whose width grows with the value: 128 buckets for each doubling (the idea of
 * HdrHistogram). A percentile is within 0.4 % of a measured latency of any size, in a constant 13 kB.
 */

/** 2^7 buckets for each doubling: half a bucket's width is 1/256 of its value. */
const SUB_BUCKET_BITS = 7;
const SUB_BUCKETS = 1 << SUB_BUCKET_BITS;
/** 2^31 - 1 microseconds, 35 minutes: far longer than any wait for a response. Longer latencies count as this. */
const MAX_MICROSECONDS = 0x7fff_ffff;
const BUCKETS = indexOf(MAX_MICROSECONDS) + 1;

/**
 * The part of a histogram that is sent between processes: the buckets that are not empty, as alternating index and
 * count.
 */
export interface HistogramCounts {
  readonly buckets: readonly number[];
  readonly maxMs: number;
}

export class Histogram {
  readonly #counts = new Float64Array(BUCKETS);
  #count = 0;
  #maxMs = 0;

  get count(): number {
    return this.#count;
  }

  /** Exact. 0 if nothing was recorded. */
  get maxMs(): number {
    return this.#maxMs;
  }

  /** @param ms a duration; a negative one, from a clock that was set back, counts as 0 */
  record(ms: number): void {
    this.#counts[indexOf(Math.min(MAX_MICROSECONDS, Math.max(0, Math.round(ms * 1_000))))]!++;
    this.#count++;
    if (ms > this.#maxMs) this.#maxMs = ms;
  }

  add({ buckets, maxMs }: HistogramCounts): void {
    for (let at = 0; at + 1 < buckets.length; at += 2) {
      this.#counts[buckets[at]!]! += buckets[at + 1]!;
      this.#count += buckets[at + 1]!;
    }
    this.#maxMs = Math.max(this.#maxMs, maxMs);
  }

  /**
   * The lowest latency that the given share of all latencies does not exceed, to within 0.4 %; undefined if nothing was
   * recorded.
   *
   * @param share 0.99 for p99
   */
  percentileMs(share: number): number | undefined {
    const wanted = Math.max(1, Math.ceil(share * this.#count));
    let seen = 0;
    for (let index = 0; index < BUCKETS; index++) {
      seen += this.#counts[index]!;
      if (seen >= wanted) return Math.min(this.#maxMs, middleOf(index) / 1_000);
    }
    return undefined;
  }

  /** The counts since the last call; the histogram is empty afterwards. */
  take(): HistogramCounts {
    const counts = this.counts();
    this.#counts.fill(0);
    this.#count = 0;
    this.#maxMs = 0;
    return counts;
  }

  counts(): HistogramCounts {
    const buckets: number[] = [];
    for (let index = 0; index < BUCKETS; index++) {
      if (this.#counts[index]! > 0) buckets.push(index, this.#counts[index]!);
    }
    return { buckets, maxMs: this.#maxMs };
  }
}

/** Values below 128 have one bucket each; above, the leading eight bits select the bucket. */
function indexOf(microseconds: number): number {
  const shift = Math.max(0, 31 - Math.clz32(microseconds) - SUB_BUCKET_BITS);
  return shift * SUB_BUCKETS + (microseconds >> shift);
}

/** The middle of a bucket's range of values. */
function middleOf(index: number): number {
  const shift = Math.max(0, Math.floor(index / SUB_BUCKETS) - 1);
  const least = (index - shift * SUB_BUCKETS) * 2 ** shift;
  return least + (2 ** shift - 1) / 2;
}
