import type { Metric, Registry } from 'prom-client';
import type { RoundTripHistogram } from '../../switching/connection/pool-stats.ts';

/** One line of a metric: the value under its labels; `suffix` for the parts of a histogram. */
export interface Sample {
  readonly labels: Readonly<Record<string, string | number>>;
  readonly value: number;
  readonly suffix?: '_bucket' | '_sum' | '_count';
}

export interface SnapshotMetric {
  readonly name: string;
  readonly help: string;
  readonly type: 'counter' | 'gauge' | 'histogram';
  /** How the values of several processes are merged; added by default. `first`: every process reads the same value. */
  readonly aggregator?: 'sum' | 'first' | 'min' | 'max';
  /** Called at each scrape. */
  readonly read: () => readonly Sample[] | Promise<readonly Sample[]>;
}

/** Registers figures that another object keeps. They are read at each scrape instead of being stored twice. */
export function registerSnapshot(
  registry: Registry,
  { name, help, type, aggregator = 'sum', read }: SnapshotMetric,
): void {
  const get = async () => ({
    name,
    help,
    type,
    aggregator,
    values: (await read()).map(({ labels, value, suffix = '' }) => ({ metricName: `${name}${suffix}`, labels, value })),
  });
  const reset = () => {};
  registry.registerMetric({ name, get, reset } as unknown as Metric);
}

/** The samples of a histogram of times. */
export function histogramSamples(
  { boundsMs, counts, count, sumMs }: RoundTripHistogram,
  labels: Sample['labels'],
): Sample[] {
  let below = 0;
  const buckets = boundsMs.map((boundMs, bucket): Sample => {
    below += counts[bucket]!;
    return { suffix: '_bucket', labels: { ...labels, le: boundMs / 1_000 }, value: below };
  });
  return [
    ...buckets,
    { suffix: '_bucket', labels: { ...labels, le: '+Inf' }, value: count },
    { suffix: '_sum', labels, value: sumMs / 1_000 },
    { suffix: '_count', labels, value: count },
  ];
}
