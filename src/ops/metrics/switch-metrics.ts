import type { Registry } from 'prom-client';
import type { SwitchStats } from '../../switches/acquirer-switch.ts';
import { registerSnapshot, type Sample } from './snapshot-metric.ts';

/** Every switch of the process, by `<acquirer> <processor>`. */
export type WatchedSwitches = Iterable<readonly [string, { readonly stats: SwitchStats }]>;

/** In which state connections are: each is in one. */
const CONNECTION_STATES = ['connecting', 'ready', 'full', 'draining', 'down'] as const;

const GAUGES = {
  pending: 'Callers that wait for a place on a connection',
  inFlight: 'Requests that wait for their answer',
} as const;

const COUNTERS = {
  answered: 'Requests that were answered',
  timedOut: 'Requests given up at their deadline',
  late: 'Answers that came after their deadline',
  duplicates: 'Answers that came twice',
  unmatched: 'Responses that nothing here was waiting for',
  badMessages: 'Frames that are no message',
  badFrames: 'Bytes that are no frame: each cost a connection',
  badMacs: 'Messages whose MAC is bad or missing',
  stanless: 'Messages that were not sent because no STAN was left before the cut-over',
  reconnects: 'Connections dialled in place of one that ended',
} as const satisfies Partial<Record<keyof SwitchStats, string>>;

/** What the pools of connections have seen; their labels are the processor's type and ids of ours. */
export function registerSwitchMetrics(registry: Registry, switches: WatchedSwitches): void {
  const each = (read: (stats: SwitchStats, labels: Sample['labels']) => readonly Sample[]) => () =>
    [...switches].flatMap(([name, { stats }]) => read(stats, labelsOf(name, stats.type)));

  registerSnapshot(registry, {
    name: 'tapwire_switch_connections',
    help: 'Connections to the switch by state',
    type: 'gauge',
    read: each((stats, labels) =>
      CONNECTION_STATES.map((state) => ({ labels: { ...labels, state }, value: stats[state] })),
    ),
  });
  for (const [key, help] of Object.entries(GAUGES) as [keyof typeof GAUGES, string][]) {
    const name = `tapwire_switch_${snake(key)}_requests`;
    registerSnapshot(registry, {
      name,
      help,
      type: 'gauge',
      read: each((stats, labels) => [{ labels, value: stats[key] }]),
    });
  }
  for (const [key, help] of Object.entries(COUNTERS) as [keyof typeof COUNTERS, string][]) {
    const name = `tapwire_switch_${snake(key)}_total`;
    registerSnapshot(registry, {
      name,
      help,
      type: 'counter',
      read: each((stats, labels) => [{ labels, value: stats[key] }]),
    });
  }
  registerSnapshot(registry, {
    name: 'tapwire_switch_round_trip_seconds',
    help: 'From the write of a request to the reading of its answer',
    type: 'histogram',
    read: each(({ roundTrips }, labels) => histogramSamples(roundTrips, labels)),
  });
}

function histogramSamples(
  { boundsMs, counts, count, sumMs }: SwitchStats['roundTrips'],
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

/** A switch by the name under which it is watched. */
export function labelsOf(name: string, type: string): Sample['labels'] {
  const [acquirer = '', processor = ''] = name.split(' ');
  return { acquirer, processor, type };
}

function snake(name: string): string {
  return name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}
