import { AggregatorRegistry, type Registry } from 'prom-client';

/** A metric with its values, as prom-client returns it. It crosses the channel between processes as JSON. */
export interface MetricValues {
  readonly name: string;
  readonly help: string;
  readonly type: unknown;
  readonly aggregator: string;
  readonly values: readonly {
    readonly value: number;
    readonly labels: Readonly<Record<string, string | number | undefined>>;
    readonly metricName?: string;
  }[];
}

/** The metrics of one process of a group. */
export interface MetricsOfProcess {
  readonly process: number;
  readonly metrics: readonly MetricValues[];
}

/** Gauges about a process itself (memory, event loop, file handles): a sum or mean would hide the process in trouble. */
const ABOUT_A_PROCESS = /^(process|nodejs)_/;
const GAUGE = 'gauge';

/** The metrics of a registry in the form that `mergeMetrics` takes. */
export async function metricsOf(registry: Registry): Promise<readonly MetricValues[]> {
  return (await registry.getMetricsAsJSON()) as unknown as readonly MetricValues[];
}

/**
 * One registry for several processes behind one port. Counters and histograms are added. Gauges about a process itself
 * get the label `process`. Other gauges follow their metric: connections are added, the figures of the installation,
 * which every process reads from the database, are taken once.
 *
 * @param departed counters of processes that have ended: without them, a sum would decrease, and Prometheus would take
 * the rest for new events
 */
export function mergeMetrics(parts: readonly MetricsOfProcess[], departed: readonly MetricValues[] = []): Registry {
  const labelled = parts.map(({ process, metrics }) => metrics.map((metric) => withProcess(metric, process)));
  return AggregatorRegistry.aggregate([...labelled, [...departed]] as unknown as object[]);
}

/** The counters and histograms of an ended process, added to those of the processes that ended before it. */
export async function addDeparted(
  departed: readonly MetricValues[],
  metrics: readonly MetricValues[],
): Promise<readonly MetricValues[]> {
  const counters = metrics.filter(({ type }) => type !== GAUGE);
  return metricsOf(AggregatorRegistry.aggregate([[...departed], counters] as unknown as object[]));
}

function withProcess(metric: MetricValues, process: number): MetricValues {
  if (metric.type !== GAUGE || !ABOUT_A_PROCESS.test(metric.name)) return metric;
  const values = metric.values.map((each) => ({ ...each, labels: { ...each.labels, process } }));
  return { ...metric, aggregator: 'first', values };
}
