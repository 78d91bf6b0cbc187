import type { Metric, Registry } from 'prom-client';
import type { RoundTripHistogram } from '../../switching/connection/pool-stats.ts';
import type { HsmDeviceState, HsmDevices } from '../../switching/hsm/hsm-calls.ts';
import type { SwitchStats } from '../../switching/switches/acquirer-switch.ts';
import type { KeyExchangeStats } from '../../switching/switches/key-exchange.ts';

/** One line of a metric: the value under its labels; `suffix` for the parts of a histogram. */
export interface Sample {
  readonly labels: Readonly<Record<string, string | number>>;
  readonly value: number;
  readonly suffix?: '_bucket' | '_sum' | '_count';
}

interface SnapshotMetric {
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
function histogramSamples({ boundsMs, counts, count, sumMs }: RoundTripHistogram, labels: Sample['labels']): Sample[] {
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

/** Every switch of the process, by `<acquirer> <processor>`. */
export type WatchedSwitches = Iterable<readonly [string, { readonly stats: SwitchStats }]>;

/** The states of a connection; each connection is in exactly one. */
const CONNECTION_STATES = ['connecting', 'ready', 'full', 'draining', 'down'] as const;

const GAUGES = {
  pending: 'Callers that wait for a slot on a connection',
  inFlight: 'Requests that wait for their response',
} as const;

const COUNTERS = {
  responded: 'Requests with a response',
  timedOut: 'Requests that timed out at their deadline',
  late: 'Responses received after the deadline',
  duplicates: 'Responses received twice',
  unmatched: 'Responses without a request in flight',
  badMessages: 'Frames that are not a message',
  badFrames: 'Bytes that are not a frame; each occurrence closed a connection',
  badMacs: 'Messages whose MAC is bad or missing',
  stanless: 'Messages that were not sent because no STAN was left before the cut-over',
  hsmFailures:
    'Calls for a PIN or a MAC that the HSM did not take, whose key it cannot use, or to which it did not respond in time',
  reconnects: 'Attempts to open a connection again',
  signOns: 'Connections that were signed on',
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

/** Processors that this process cannot open. Their switches have no other series. */
export function registerUnusable(registry: Registry, faults: () => ReadonlyMap<string, string>): void {
  registerSnapshot(registry, {
    name: 'tapwire_processor_unusable',
    help: 'Processes that cannot open the processor, so that its routes are not used; the log has the reason',
    type: 'gauge',
    read: () =>
      [...faults().keys()].map((name) => {
        const [acquirer = '', processor = ''] = name.split(' ');
        return { labels: { acquirer, processor }, value: 1 };
      }),
  });
}

/** The labels of a switch, from its name in the metrics. */
function labelsOf(name: string, type: string): Sample['labels'] {
  const [acquirer = '', processor = ''] = name.split(' ');
  return { acquirer, processor, type };
}

function snake(name: string): string {
  return name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}

const MS = 1_000;

/** Working keys of switches that exchange them during operation. */
export function registerKeyMetrics(registry: Registry, switches: WatchedSwitches): void {
  const each = (read: (keys: KeyExchangeStats, labels: Sample['labels']) => readonly Sample[]) => () =>
    [...switches].flatMap(([name, { stats }]) =>
      stats.keyExchange ? read(stats.keyExchange, labelsOf(name, stats.type)) : [],
    );

  registerSnapshot(registry, {
    name: 'tapwire_key_exchanges_total',
    help: 'Working keys exchanged, and failed exchanges, after which the previous keys remain in use',
    type: 'counter',
    read: each(({ exchanged, failed }, labels) => [
      { labels: { ...labels, result: 'exchanged' }, value: exchanged },
      { labels: { ...labels, result: 'failed' }, value: failed },
    ]),
  });
  registerSnapshot(registry, {
    name: 'tapwire_working_key_missing',
    help: '1 while messages that need a key of this use are not sent, because the switch may have none of the keys',
    type: 'gauge',
    aggregator: 'max',
    read: each(({ keyless }, labels) =>
      Object.entries(keyless).map(([use, value]) => ({ labels: { ...labels, use }, value })),
    ),
  });
  registerSnapshot(registry, {
    name: 'tapwire_working_key_age_seconds',
    help: 'Age of the key in use; absent while the key of the configuration is in use',
    type: 'gauge',
    aggregator: 'max',
    read: each(({ ages }, labels) =>
      ages.flatMap(({ use, ageMs }) =>
        ageMs === null ? [] : [{ labels: { ...labels, use }, value: Math.round(ageMs / MS) }],
      ),
    ),
  });
  registerSnapshot(registry, {
    name: 'tapwire_working_key_max_age_seconds',
    help: 'Age at which the gateway requests a new key; absent if the switch decides when to change keys',
    type: 'gauge',
    aggregator: 'max',
    read: each(({ ages, maxAgeMs }, labels) =>
      maxAgeMs === null ? [] : ages.map(({ use }) => ({ labels: { ...labels, use }, value: maxAgeMs / MS })),
    ),
  });
}

/** Certificates by the time at which the other side refuses them. Open connections may still use earlier ones. */
export function registerCertificates(
  registry: Registry,
  switches: WatchedSwitches | undefined,
  front: () => number | undefined,
): void {
  registerSnapshot(registry, {
    name: 'tapwire_certificate_expires_at_seconds',
    help: 'When each certificate that new connections use expires, in seconds since 1970',
    type: 'gauge',
    aggregator: 'min',
    read: () => {
      const https = front();
      const ofFront = https === undefined ? [] : [{ labels: { certificate: 'https' }, value: https / MS }];
      const ofSwitches = [...(switches ?? [])].flatMap(([name, { stats }]) => {
        const { acquirer, processor } = labelsOf(name, stats.type);
        return stats.certificates.map(({ use, expiresAtMs }) => ({
          labels: { acquirer: acquirer!, processor: processor!, certificate: use },
          value: expiresAtMs / MS,
        }));
      });
      return [...ofFront, ...ofSwitches];
    },
  });
}

/** Counters of stored and dropped messages of a process. */
export interface WatchedMessages {
  readonly counts: { readonly kept: number; readonly dropped: number; readonly waitingBytes: number };
}

/** Metrics of the masked messages that are kept for people. */
export function registerMessageMetrics(registry: Registry, messages: WatchedMessages): void {
  registerSnapshot(registry, {
    name: 'tapwire_exchanges_total',
    help: 'Exchanges with switches whose messages were stored, and those dropped because the database was too slow',
    type: 'counter',
    read: () => {
      const { kept, dropped } = messages.counts;
      return [
        { labels: { result: 'kept' }, value: kept },
        { labels: { result: 'dropped' }, value: dropped },
      ];
    },
  });
  registerSnapshot(registry, {
    name: 'tapwire_exchanges_waiting_bytes',
    help: 'Masked messages that wait to be written',
    type: 'gauge',
    read: () => [{ labels: {}, value: messages.counts.waitingBytes }],
  });
}

/** The devices of an HSM as this process sees them; each process has its own connections. */
export function registerHsmMetrics(registry: Registry, hsm: HsmDevices): void {
  const each = (read: (state: HsmDeviceState) => readonly Sample[]) => () => hsm.deviceStates().flatMap(read);
  registerSnapshot(registry, {
    name: 'tapwire_hsm_devices',
    help: 'Processes by the status that an HSM device, service or token has for them',
    type: 'gauge',
    read: each(({ name: device, kind, status }) => [{ labels: { device, kind, status }, value: 1 }]),
  });
  registerSnapshot(registry, {
    name: 'tapwire_hsm_outstanding_commands',
    help: 'Commands that wait for a response of an HSM device',
    type: 'gauge',
    read: each(({ name: device, outstanding }) => [{ labels: { device }, value: outstanding }]),
  });
  registerSnapshot(registry, {
    name: 'tapwire_hsm_commands_total',
    help: 'Commands to HSM devices: succeeded, or the reason of the failure or refusal',
    type: 'counter',
    read: each(({ name: device, succeeded, failures, refusals }) => [
      { labels: { device, result: 'succeeded' }, value: succeeded },
      ...Object.entries(failures).map(([code, value]) => ({ labels: { device, result: code.toLowerCase() }, value })),
      ...Object.entries(refusals).map(([code, value]) => ({ labels: { device, result: `refused_${code}` }, value })),
    ]),
  });
  registerSnapshot(registry, {
    name: 'tapwire_hsm_round_trip_seconds',
    help: 'Time from the write of a command to the read of its response',
    type: 'histogram',
    read: each(({ name: device, roundTrips }) => histogramSamples(roundTrips, { device })),
  });
}
