import type { Metric, Registry } from 'prom-client';

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
  /** Asked at each scrape. */
  readonly read: () => readonly Sample[] | Promise<readonly Sample[]>;
}

/** Figures that somebody else keeps are read when they are asked for, instead of being kept a second time. */
export function registerSnapshot(registry: Registry, { name, help, type, read }: SnapshotMetric): void {
  const get = async () => ({
    name,
    help,
    type,
    aggregator: 'sum',
    values: (await read()).map(({ labels, value, suffix = '' }) => ({ metricName: `${name}${suffix}`, labels, value })),
  });
  const reset = () => {};
  registry.registerMetric({ name, get, reset } as unknown as Metric);
}
