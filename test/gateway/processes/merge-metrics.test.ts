import { Counter, Gauge, Histogram, Registry } from 'prom-client';
import { expect, test } from 'vitest';
import { addDeparted, mergeMetrics, metricsOf } from '../../../src/observe/metrics/merge-metrics.ts';
import { registerSnapshot } from '../../../src/observe/metrics/switch-metrics.ts';

/** The metrics of a process that has counted this many events. */
function registryWith(count: number): Registry {
  const registers = [new Registry()];
  new Counter({ name: 'events_total', help: 'h', labelNames: ['kind'], registers }).inc({ kind: 'a' }, count);
  new Gauge({ name: 'connections', help: 'h', registers }).set(count);
  new Gauge({ name: 'process_resident_memory_bytes', help: 'h', registers }).set(count);
  new Histogram({ name: 'times_seconds', help: 'h', buckets: [1], registers }).observe(count);
  registerSnapshot(registers[0]!, {
    name: 'jobs_of_installation',
    help: 'h',
    type: 'gauge',
    aggregator: 'first',
    read: () => [{ labels: {}, value: 7 }],
  });
  return registers[0]!;
}

const linesOf = (text: string) => text.split('\n').filter((line) => line !== '' && !line.startsWith('#'));

test('counters, histograms and connections are added, figures of the installation are not, and processes are labelled', async () => {
  const parts = [
    { process: 1, metrics: await metricsOf(registryWith(1)) },
    { process: 2, metrics: await metricsOf(registryWith(2)) },
  ];
  expect(linesOf(await mergeMetrics(parts).metrics())).toEqual([
    'events_total{kind="a"} 3',
    'connections 3',
    'process_resident_memory_bytes{process="1"} 1',
    'process_resident_memory_bytes{process="2"} 2',
    'times_seconds_bucket{le="1"} 1',
    'times_seconds_bucket{le="+Inf"} 2',
    'times_seconds_sum 3',
    'times_seconds_count 2',
    'jobs_of_installation 7',
  ]);
});

test('the counters of ended processes stay in the sum, and their gauges do not', async () => {
  const once = await addDeparted([], await metricsOf(registryWith(10)));
  const departed = await addDeparted(once, await metricsOf(registryWith(20)));
  const parts = [{ process: 1, metrics: await metricsOf(registryWith(1)) }];
  const lines = linesOf(await mergeMetrics(parts, departed).metrics());
  expect(lines).toContain('events_total{kind="a"} 31');
  expect(lines).toContain('times_seconds_count 3');
  expect(lines).toContain('connections 1');
  expect(lines).toContain('process_resident_memory_bytes{process="1"} 1');
});
