import type { CallOutcome } from './clients/fleet.ts';

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
interface HistogramCounts {
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

/** The figures of one scenario in a period. */
export interface ScenarioSlice {
  /** Responses by outcome. */
  outcomes: Record<string, number>;
  /** Responses that the scenario does not expect, errors included. */
  unexpected: number;
  errors: number;
  /** Times from when a call was due to its response. */
  latencies: HistogramCounts;
}

/** What one worker, or all of them, recorded in a period. All requests of a call count as one call. */
export interface Slice {
  /** Calls that became due. */
  due: number;
  /** Calls that were sent. */
  sent: number;
  responded: number;
  /** Sent, but no response arrived. */
  lost: number;
  /** Never sent: there was no connection. */
  unsent: number;
  /** Calls in progress when the user stopped the test. */
  abandoned: number;
  /** HTTP requests: a tap with a PIN has two. */
  requests: number;
  scenarios: Record<string, ScenarioSlice>;
  /** Why calls were lost or not sent. */
  reasons: Record<string, number>;
  /**
   * How late the generator sent calls for which a connection was available: a delay of the generator, not of the
   * gateway.
   */
  lags: HistogramCounts;

  /** Calls in flight at the end of the period. */
  inFlight: number;
  /** Calls that wait for a connection. */
  waiting: number;
  connections: number;
  /** The share of the time in which the worker was busy; the largest of all workers. */
  busy: number;
}

export function emptySlice(): Slice {
  const counts = { due: 0, sent: 0, responded: 0, lost: 0, unsent: 0, abandoned: 0, requests: 0 };
  const levels = { inFlight: 0, waiting: 0, connections: 0, busy: 0 };
  return { ...counts, ...levels, scenarios: {}, reasons: {}, lags: { buckets: [], maxMs: 0 } };
}

type Counter = 'due' | 'sent' | 'responded' | 'lost' | 'unsent' | 'abandoned' | 'requests';
type Level = 'inFlight' | 'waiting' | 'connections' | 'busy';

const COUNTERS = ['due', 'sent', 'responded', 'lost', 'unsent', 'abandoned', 'requests'] as const satisfies Counter[];
const SUMMED_LEVELS = ['inFlight', 'waiting', 'connections'] as const satisfies Level[];

class ScenarioTally {
  readonly outcomes: Record<string, number> = {};
  readonly latencies = new Histogram();
  unexpected = 0;
  errors = 0;
}

/** Sums the results of calls: in a worker for each second, and for the whole test from the workers' slices. */
export class Tally {
  #slice: Slice = emptySlice();
  #scenarios = new Map<string, ScenarioTally>();
  readonly #lags = new Histogram();

  count(counter: Counter, reason?: string): void {
    this.#slice[counter]++;
    if (reason !== undefined) increase(this.#slice.reasons, reason, 1);
  }

  /** Corrects the count of a call that was counted as sent but was not. */
  uncount(counter: 'sent'): void {
    this.#slice[counter]--;
  }

  countResponse(scenario: string, { outcome, isExpected, isError }: CallOutcome, ms: number): void {
    this.#slice.responded++;
    const tally = this.#scenarioNamed(scenario);
    increase(tally.outcomes, outcome, 1);
    if (!isExpected) tally.unexpected++;
    if (isError) tally.errors++;
    tally.latencies.record(ms);
  }

  recordLag(ms: number): void {
    this.#lags.record(ms);
  }

  /** Adds a slice of another tally; levels of slices in the same period are summed, too. */
  add(slice: Slice): void {
    for (const counter of COUNTERS) this.#slice[counter] += slice[counter];
    for (const level of SUMMED_LEVELS) this.#slice[level] += slice[level];
    this.#slice.busy = Math.max(this.#slice.busy, slice.busy);
    for (const [reason, count] of Object.entries(slice.reasons)) increase(this.#slice.reasons, reason, count);
    this.#lags.add(slice.lags);
    for (const [name, { outcomes, unexpected, errors, latencies }] of Object.entries(slice.scenarios)) {
      const tally = this.#scenarioNamed(name);
      for (const [outcome, count] of Object.entries(outcomes)) increase(tally.outcomes, outcome, count);
      tally.unexpected += unexpected;
      tally.errors += errors;
      tally.latencies.add(latencies);
    }
  }

  /** The counts since the last call of `take`. */
  take(levels: Readonly<Partial<Record<Level, number>>> = {}): Slice {
    const slice = { ...this.sum(), ...levels };
    this.#slice = emptySlice();
    this.#scenarios = new Map();
    this.#lags.take();
    return slice;
  }

  /** The counts so far. */
  sum(): Slice {
    const scenarios = [...this.#scenarios].map(([name, tally]): [string, ScenarioSlice] => {
      const { outcomes, unexpected, errors, latencies } = tally;
      return [name, { outcomes: { ...outcomes }, unexpected, errors, latencies: latencies.counts() }];
    });
    return { ...this.#slice, scenarios: Object.fromEntries(scenarios), lags: this.#lags.counts() };
  }

  #scenarioNamed(name: string): ScenarioTally {
    let tally = this.#scenarios.get(name);
    if (tally === undefined) {
      tally = new ScenarioTally();
      this.#scenarios.set(name, tally);
    }
    return tally;
  }
}

/** All latencies of a slice, of all scenarios. */
export function latenciesOf({ scenarios }: Slice): Histogram {
  const all = new Histogram();
  for (const { latencies } of Object.values(scenarios)) all.add(latencies);
  return all;
}

/** All outcomes of a slice, of all scenarios. */
export function outcomesOf({ scenarios }: Slice): Record<string, number> {
  const all: Record<string, number> = {};
  for (const { outcomes } of Object.values(scenarios))
    for (const [outcome, count] of Object.entries(outcomes)) increase(all, outcome, count);
  return all;
}

function increase(counts: Record<string, number>, name: string, by: number): void {
  counts[name] = (counts[name] ?? 0) + by;
}
