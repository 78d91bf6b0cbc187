import type { Registry } from 'prom-client';
import type { SwitchStats } from '../../switching/switches/acquirer-switch.ts';
import { histogramSamples, registerSnapshot, type Sample } from './snapshot-metric.ts';

/** Every switch of the process, by `<acquirer> <processor>`. */
export type WatchedSwitches = Iterable<readonly [string, { readonly stats: SwitchStats }]>;

/** The states of a connection; each connection is in exactly one. */
const CONNECTION_STATES = ['connecting', 'ready', 'full', 'draining', 'down'] as const;

const GAUGES = {
  pending: 'Callers that wait for a slot on a connection',
  inFlight: 'Requests that wait for their response',
} as const;

const COUNTERS = {
  answered: 'Requests with a response',
  timedOut: 'Requests that timed out at their deadline',
  late: 'Responses received after the deadline',
  duplicates: 'Responses received twice',
  unmatched: 'Responses without a request in flight',
  badMessages: 'Frames that are not a message',
  badFrames: 'Bytes that are not a frame; each occurrence closed a connection',
  badMacs: 'Messages whose MAC is bad or missing',
  stanless: 'Messages that were not sent because no STAN was left before the cut-over',
  hsmFailures: 'Calls for a PIN or a MAC that the HSM did not answer in time or could not take',
  reconnects: 'Connections opened to replace a closed one',
} as const satisfies Partial<Record<keyof SwitchStats, string>>;

/** Counters of the connection pools; their labels are the processor type and ids of configuration. */
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
    help: 'Time from the write of a request to the read of its response',
    type: 'histogram',
    read: each(({ roundTrips }, labels) => histogramSamples(roundTrips, labels)),
  });
}

/** The labels of a switch, from its name in the metrics. */
export function labelsOf(name: string, type: string): Sample['labels'] {
  const [acquirer = '', processor = ''] = name.split(' ');
  return { acquirer, processor, type };
}

function snake(name: string): string {
  return name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}
