import type { LoadResult } from '#schemas/load';
import { LoadError } from '../../basics/errors.ts';
import type { ArrivalPlan, RateSegment } from './arrival-plan.ts';
import { percentilesOf, type StepResult } from './load-result.ts';
import { latenciesOf, type Slice, Tally } from './tally.ts';

/** A condition under which a test counts as failed: `p99>50ms`, `errors>0.1%`, `perSecond<900`. */
export interface Threshold {
  readonly text: string;
  readonly metric: Metric;
  readonly comparison: '>' | '<';
  readonly value: number;
  /** A share of all calls that were due, instead of a number of calls. */
  readonly isShare: boolean;
}

const LATENCIES = { p50: 'p50Ms', p90: 'p90Ms', p99: 'p99Ms', 'p99.9': 'p999Ms', max: 'maxMs' } as const;
const COUNTS = ['errors', 'lost', 'unsent', 'unexpected'] as const;
const RATES = ['perSecond'] as const;

type Latency = keyof typeof LATENCIES;
type Metric = Latency | (typeof COUNTS)[number] | (typeof RATES)[number];

/** One condition for each metric in both directions, with reserve. */
const MAX_THRESHOLDS = 32;

/**
 * Parses `p99>50ms,errors>0.1%`.
 *
 * @throws LoadError BAD_OPTION naming the wrong condition
 */
export function parseThresholds(text: string): Threshold[] {
  const words = text.split(',').map((word) => word.trim());
  if (words.length > MAX_THRESHOLDS) throw fault(`more than ${MAX_THRESHOLDS} conditions`);
  return words.map(parseThreshold);
}

function parseThreshold(text: string): Threshold {
  const [, name = '', comparison, digits = '', unit = ''] =
    /^([a-zA-Z0-9.]+)\s*([<>])\s*(\d{1,9}(?:\.\d{1,6})?)(ms|s|%|)$/.exec(text) ?? [];
  const value = Number(digits);
  const found = { text, comparison: comparison as '>' | '<' };
  if (name in LATENCIES && (unit === 'ms' || unit === 's')) {
    return { ...found, metric: name as Latency, value: unit === 's' ? value * 1_000 : value, isShare: false };
  }
  const counted = COUNTS.find((each) => each === name);
  if (counted && (unit === '%' || unit === '')) {
    return { ...found, metric: counted, value: unit === '%' ? value / 100 : value, isShare: unit === '%' };
  }
  const rate = RATES.find((each) => each === name);
  if (rate && unit === '') return { ...found, metric: rate, value, isShare: false };
  throw fault(
    `${text}: expected p50, p90, p99, p99.9 or max with ms; errors, lost, unsent or unexpected with a number or %; perSecond`,
  );
}

type Judged = Pick<
  LoadResult,
  'sent' | 'unsent' | 'lost' | 'errors' | 'unexpected' | 'perSecond' | 'p50Ms' | 'p90Ms' | 'p99Ms' | 'p999Ms' | 'maxMs'
>;

/**
 * The conditions under which the result fails, in words; empty if it passes. A metric without a measurement also fails.
 */
export function failedThresholds(thresholds: readonly Threshold[], result: Judged): string[] {
  return thresholds.flatMap((threshold) => {
    const measured = measuredOf(threshold, result);
    if (measured === null) return [`${threshold.text}: there was no response`];
    const isFailed = threshold.comparison === '>' ? measured > threshold.value : measured < threshold.value;
    return isFailed ? [`${threshold.text}: it is ${inWords(threshold, measured)}`] : [];
  });
}

function measuredOf({ metric, isShare }: Threshold, result: Judged): number | null {
  if (metric in LATENCIES) return result[LATENCIES[metric as Latency]];
  const measured = result[metric as (typeof COUNTS)[number] | 'perSecond'];
  const calls = result.sent + result.unsent;
  if (!isShare) return measured;
  return calls === 0 ? null : measured / calls;
}

function inWords({ metric, isShare }: Threshold, measured: number): string {
  if (metric in LATENCIES) return `${measured} ms`;
  return isShare ? `${(measured * 100).toFixed(3)} %` : String(measured);
}

function fault(why: string): LoadError {
  return new LoadError('BAD_OPTION', `--fail-if ${why}`);
}

/** A gateway that responds to less than this share of the arrivals, and has this backlog, will not catch up. */
const LEAST_RESPONDED_SHARE = 0.95;
const MAX_BACKLOG_SECONDS = 0.5;
/** A person at a till waits no longer; used if no conditions are given. */
const MAX_P99_MS = 1_000;
const MAX_ERROR_SHARE = 0.01;

/** Watches the steps of a test that continues until it breaks. */
export class StepWatch {
  readonly results: StepResult[] = [];
  readonly #segments: ArrivalPlan['segments'];
  readonly #thresholds: readonly Threshold[];
  #tally = new Tally();
  #step = 0;
  /** End of the current step, in seconds of the test. */
  #endSeconds: number;

  /**
   * @param thresholds conditions under which a step counts as broken; default: one second, and one error in a hundred
   */
  constructor({ segments }: ArrivalPlan, thresholds: readonly Threshold[]) {
    this.#segments = segments;
    this.#thresholds = thresholds;
    this.#endSeconds = segments[0]?.seconds ?? 0;
  }

  /** Adds the next second of the test. If a step ends with it and did not hold, returns the reason. */
  add(second: number, slice: Slice): string | undefined {
    this.#tally.add(slice);
    const segment = this.#segments[this.#step];
    if (segment === undefined || second + 1 < Math.floor(this.#endSeconds)) return undefined;
    const sum = this.#tally.take({ inFlight: slice.inFlight, waiting: slice.waiting });
    const responsesPerSecond = sum.responded / segment.seconds;
    const broke = this.#faultOf(sum, segment) ?? null;
    const { p99Ms } = percentilesOf(latenciesOf(sum));
    this.results.push({ perSecond: segment.from, responsesPerSecond, p99Ms, broke });
    this.#step++;
    this.#endSeconds += this.#segments[this.#step]?.seconds ?? 0;
    return broke ?? undefined;
  }

  #faultOf(sum: Slice, { from, seconds }: RateSegment): string | undefined {
    const scenarios = Object.values(sum.scenarios);
    const errors = scenarios.reduce((all, each) => all + each.errors, 0) + sum.unsent + sum.lost;
    // The report of its last second may be late and then contains calls of the next step, which count for neither.
    const due = Math.min(sum.due, from * seconds);
    const backlogSeconds = (sum.inFlight + sum.waiting) / from;
    if (sum.responded < due * LEAST_RESPONDED_SHARE && backlogSeconds > MAX_BACKLOG_SECONDS)
      return `it responded to ${(sum.responded / seconds).toFixed(0)} of ${(due / seconds).toFixed(0)} a second`;
    const percentiles = percentilesOf(latenciesOf(sum));
    const unexpected = scenarios.reduce((all, each) => all + each.unexpected, 0);
    if (this.#thresholds.length > 0) {
      const { sent, unsent, lost } = sum;
      const judged = { sent, unsent, lost, errors, unexpected, perSecond: sum.responded / seconds, ...percentiles };
      return failedThresholds(this.#thresholds, judged)[0];
    }
    if ((percentiles.p99Ms ?? 0) > MAX_P99_MS) return `p99 is ${percentiles.p99Ms?.toFixed(0)} ms`;
    return errors > sum.due * MAX_ERROR_SHARE ? `${errors} of ${sum.due} calls failed` : undefined;
  }
}
