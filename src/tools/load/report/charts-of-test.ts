import type { LoadRecord } from '../load-run.ts';
import type { MachineSample } from '../machine-watch.ts';
import { Histogram, latenciesOf, outcomesOf, type Slice, Tally } from '../tally.ts';
import { type Chart, type ChartSeries, latencyScale } from './chart.ts';

/** More points than a screen can show side by side; neighbours are combined. */
const MAX_POINTS = 240;
/** One colour for each series. Further series are combined in the last one. */
const COLOURS = ['--c1', '--c2', '--c3', '--c4', '--c5', '--c6', '--c7', '--c8'];
/** The same in every report: green is money, red is an uncertain outcome. */
const OUTCOME_COLOURS: Readonly<Record<string, string>> = {
  Approved: '--c2',
  Declined: '--c3',
  Found: '--c1',
  Indeterminate: '--c4',
  UnableToGoOnline: '--c6',
};
const OTHER_OUTCOMES = ['--c5', '--c7'];
const REST_COLOUR = '--c8';
const MAX_OUTCOMES = COLOURS.length - 1;
/** Percentiles are degrees of one figure, so they have shades of one colour. */
const PERCENTILES = [
  { name: 'p50', share: 0.5, colour: '--o1' },
  { name: 'p90', share: 0.9, colour: '--o2' },
  { name: 'p99', share: 0.99, colour: '--o3' },
] as const;

interface Point {
  readonly second: number;
  readonly seconds: number;
  readonly slice: Slice;
}

/** All charts of a test; charts without data are left out. */
export function chartsOfTest(record: LoadRecord, samples: readonly MachineSample[]): Chart[] {
  const points = pointsOf(record.seconds);
  const charts = [throughput(points), latency(points), distribution(record.total), outcomes(points), inFlight(points)];
  return [...charts, ...machineCharts(thinned(samples))].filter(({ series }) => series.length > 0);
}

function pointsOf(seconds: readonly Slice[]): Point[] {
  const size = Math.max(1, Math.ceil(seconds.length / MAX_POINTS));
  const points: Point[] = [];
  for (let at = 0; at < seconds.length; at += size) {
    const group = seconds.slice(at, at + size);
    const tally = new Tally();
    for (const slice of group) tally.add({ ...slice, inFlight: 0, waiting: 0, connections: 0 });
    const { inFlight, waiting, connections } = group.at(-1)!;
    const slice = { ...tally.sum(), inFlight, waiting, connections };
    points.push({ second: at + group.length, seconds: group.length, slice });
  }
  return points;
}

function throughput(points: readonly Point[]): Chart {
  const rate = (key: 'due' | 'responded') => points.map(({ slice, seconds }) => slice[key] / seconds);
  return {
    title: 'Throughput',
    description:
      'Calls that were due and calls that received a response, per second. Where the two lines diverge, the gateway fell behind or caught up.',
    xs: timesOf(points),
    series: [
      { name: 'due', values: rate('due'), colour: '--muted' },
      { name: 'responses', values: rate('responded'), colour: '--c1' },
    ],
    format: perSecond,
  };
}

function latency(points: readonly Point[]): Chart {
  const histograms = points.map(({ slice }) => latenciesOf(slice));
  const at = (share: number) => histograms.map((histogram) => histogram.percentileMs(share) ?? null);
  const most = (histogram: Histogram) => (histogram.count === 0 ? null : histogram.maxMs);
  const series: ChartSeries[] = [
    ...PERCENTILES.map(({ name, share, colour }) => ({ name, values: at(share), colour })),
    { name: 'max', values: histograms.map(most), colour: '--o4' },
  ];
  const values = series.flatMap((each) => each.values.filter((value) => value !== null));
  return {
    title: 'Latency',
    description: 'From the time a call was due to its response, waiting included.',
    xs: timesOf(points),
    series,
    format: inMs,
    scale: latencyScale(values),
  };
}

/** Each step to the right is ten times as rare, so one chart shows the typical and the worst latency. */
function distribution({ scenarios }: Slice): Chart {
  const nines = Array.from({ length: 41 }, (_, at) => at / 10);
  const entries = Object.entries(scenarios).sort(([, one], [, other]) => responsesOf(other) - responsesOf(one));
  const series = entries.slice(0, COLOURS.length).map(([name, { latencies }], at) => {
    const histogram = new Histogram();
    histogram.add(latencies);
    // With too few responses for so rare a percentile, there is no value.
    const values = nines.map((each) =>
      histogram.count * 10 ** -each < 1 ? null : (histogram.percentileMs(1 - 10 ** -each) ?? null),
    );
    return { name, values, colour: COLOURS[at]! };
  });
  return {
    title: 'Latency by scenario',
    description: 'Percentage of calls that took no longer than this.',
    xs: nines,
    axis: {
      name: 'Per cent',
      ticks: [0, 1, 2, 3, 4],
      format: (each) => `${Number((100 - 100 * 10 ** -each).toPrecision(4))} %`,
    },
    series,
    format: inMs,
    scale: latencyScale(series.flatMap(({ values }) => values.filter((value) => value !== null))),
  };
}

function responsesOf({ outcomes }: Slice['scenarios'][string]): number {
  return Object.values(outcomes).reduce((sum, count) => sum + count, 0);
}

function outcomes(points: readonly Point[]): Chart {
  const all = points.map(({ slice }) => outcomesOf(slice));
  const totals = new Map<string, number>();
  for (const each of all)
    for (const [name, count] of Object.entries(each)) totals.set(name, (totals.get(name) ?? 0) + count);
  const names = [...totals].sort(([, one], [, other]) => other - one).map(([name]) => name);
  const own = names.slice(0, MAX_OUTCOMES);
  const rest = names.slice(MAX_OUTCOMES);
  const valuesOf = (chosen: readonly string[]) =>
    all.map((each, at) => chosen.reduce((sum, name) => sum + (each[name] ?? 0), 0) / points[at]!.seconds);
  const spare = OTHER_OUTCOMES.values();
  const series = own.map((name) => ({
    name,
    values: valuesOf([name]),
    colour: OUTCOME_COLOURS[name] ?? spare.next().value ?? REST_COLOUR,
  }));
  return {
    title: 'Outcomes',
    description: 'Responses by outcome, per second.',
    xs: timesOf(points),
    series: rest.length === 0 ? series : [...series, { name: 'others', values: valuesOf(rest), colour: REST_COLOUR }],
    format: perSecond,
    isStacked: true,
  };
}

function inFlight(points: readonly Point[]): Chart {
  const level = (key: 'inFlight' | 'waiting' | 'connections') => points.map(({ slice }) => slice[key]);
  return {
    title: 'In flight',
    description: 'Calls in progress, calls that wait for a connection, and connections, at the end of each second.',
    xs: timesOf(points),
    series: [
      { name: 'under way', values: level('inFlight'), colour: '--c1' },
      { name: 'waiting for a connection', values: level('waiting'), colour: '--c4' },
      { name: 'connections', values: level('connections'), colour: '--muted' },
    ],
    format: whole,
  };
}

function machineCharts(samples: readonly MachineSample[]): Chart[] {
  const xs = samples.map(({ second }) => second);
  const names = [...new Set(samples.flatMap(({ processes }) => Object.keys(processes)))].slice(0, COLOURS.length);
  const ofProcess = (key: 'cores' | 'memoryBytes') =>
    names.map((name, at) => ({
      name,
      values: samples.map(({ processes }) => processes[name]?.[key] ?? null),
      colour: COLOURS[at]!,
    }));
  return [
    {
      title: 'Switch connections and queues',
      description:
        'As reported by the gateway: requests in flight to switches, requests that wait for a slot, and waiting jobs.',
      xs,
      series: gatewaySeries(samples),
      format: whole,
    },
    {
      title: 'Processor',
      description: 'Cores in use by each process, and by everything on the machine of the generator together.',
      xs,
      series: names.length === 0 ? [] : [ofMachine(samples), ...ofProcess('cores')],
      format: cores,
    },
    {
      title: 'Memory',
      description: 'Memory of each process.',
      xs,
      series: ofProcess('memoryBytes'),
      format: megabytes,
    },
  ];
}

function ofMachine(samples: readonly MachineSample[]): ChartSeries {
  return { name: 'whole machine', values: samples.map(({ machineCores }) => machineCores), colour: '--muted' };
}

function gatewaySeries(samples: readonly MachineSample[]): ChartSeries[] {
  const level = (key: 'inFlight' | 'pending' | 'queued') => samples.map(({ gateway }) => gateway?.[key] ?? null);
  const series = [
    { name: 'in flight', values: level('inFlight'), colour: '--c1' },
    { name: 'waiting for a slot', values: level('pending'), colour: '--c4' },
    { name: 'jobs waiting', values: level('queued'), colour: '--c2' },
  ];
  return series.filter(({ values }) => values.some((value) => value !== null));
}

function thinned(samples: readonly MachineSample[]): MachineSample[] {
  const size = Math.max(1, Math.ceil(samples.length / MAX_POINTS));
  return samples.filter((_, at) => at % size === 0);
}

function timesOf(points: readonly Point[]): number[] {
  return points.map(({ second }) => second);
}

function perSecond(value: number): string {
  return `${value < 10 && value % 1 !== 0 ? value.toFixed(1) : Math.round(value).toLocaleString('en')}/s`;
}

function whole(value: number): string {
  return value < 10 && value % 1 !== 0 ? value.toFixed(1) : Math.round(value).toLocaleString('en');
}

function inMs(ms: number): string {
  if (ms >= 1_000) return `${Number((ms / 1_000).toPrecision(3))} s`;
  return `${Number(ms.toPrecision(3))} ms`;
}

function cores(value: number): string {
  return value.toFixed(2);
}

function megabytes(bytes: number): string {
  return `${Math.round(bytes / 1e6).toLocaleString('en')} MB`;
}
