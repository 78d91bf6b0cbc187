import { monitorEventLoopDelay } from 'node:perf_hooks';
import { Gauge, type Registry } from 'prom-client';

type IntervalHistogram = ReturnType<typeof monitorEventLoopDelay>;

const PREFIX = 'nodejs_eventloop_lag';
const NANOSECONDS_PER_SECOND = 1e9;

const FIGURES: readonly (readonly [name: string, help: string, read: (delays: IntervalHistogram) => number])[] = [
  ['min', 'Shortest delay of the event loop since the last scrape', (delays) => delays.min],
  ['mean', 'Mean delay of the event loop since the last scrape', (delays) => delays.mean],
  ['p50', 'Median delay of the event loop since the last scrape', (delays) => delays.percentile(50)],
  ['p99', '99th percentile of the delays of the event loop since the last scrape', (delays) => delays.percentile(99)],
  ['max', 'Longest delay of the event loop since the last scrape', (delays) => delays.max],
];

/**
 * Replaces prom-client's gauges of the event loop. If no delay was recorded since the last scrape (two scrapers a few
 * milliseconds apart), those report `Nan` and a minimum of 9 billion seconds. These keep the figures before.
 */
export function measureEventLoopLag(registry: Registry): void {
  for (const { name } of registry.getMetricsAsArray()) if (name.startsWith(PREFIX)) registry.removeSingleMetric(name);
  const delays = monitorEventLoopDelay();
  delays.enable();
  const refresh = () => {
    if (delays.count === 0) return;
    for (const { gauge, read } of figures) gauge.set(read(delays) / NANOSECONDS_PER_SECOND);
    delays.reset();
  };
  // Metrics are read in the order of their registration: the first one sets all of them.
  const figures = FIGURES.map(([name, help, read], index) => ({
    gauge: new Gauge({
      name: `${PREFIX}_${name}_seconds`,
      help,
      registers: [registry],
      ...(index === 0 && { collect: refresh }),
    }),
    read,
  }));
}
