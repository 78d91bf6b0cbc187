import type { LoadResult } from '#schemas/load-result';
import { LoadError } from '../../basics/errors.ts';

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
