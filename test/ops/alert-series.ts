import type { OverloadedResource } from '../../src/basics/errors.ts';
import { type QueueFigures, WORK_NAMES } from '../../src/jobs/queues.ts';
import type { Backlog } from '../../src/observe/backlog.ts';
import { registerBacklogMetrics } from '../../src/observe/metrics/gateway-metrics.ts';
import { Metrics } from '../../src/observe/metrics/metrics.ts';
import {
  registerCertificates,
  registerHsmMetrics,
  registerKeyMetrics,
  registerMessageMetrics,
  registerSwitchMetrics,
  registerUnusable,
} from '../../src/observe/metrics/switch-metrics.ts';
import type { RequestLog } from '../../src/observe/request-log.ts';
import { RoundTrips } from '../../src/switching/connection/pool-stats.ts';
import type { HsmDeviceState } from '../../src/switching/hsm/hsm-calls.ts';
import type { SwitchStats } from '../../src/switching/switches/acquirer-switch.ts';
import type { KeyExchangeStats } from '../../src/switching/switches/key-exchange.ts';

type Changeable<T> = { -readonly [Key in keyof T]: T[Key] };

const TAP = {
  correlationId: 'c',
  trace: { traceId: 't' },
  method: 'POST',
  routeOptions: { url: '/transactions/mobile' },
};
const UNLOGGED = { responded: () => {}, unforeseen: () => {}, overloaded: () => {}, refused: () => {} };
/** What happens in a minute without trouble. */
const TAPS_A_MINUTE = 100;
const OWN = /^(tapwire|http)_/;

/** The figures of an installation with one process, one switch, two HSM devices and a token, as Prometheus stores them. */
export class Installation {
  readonly messages = { kept: 0, dropped: 0, waitingBytes: 0 };
  readonly keys: Changeable<KeyExchangeStats> = {
    exchanged: 1,
    failed: 0,
    lastFault: undefined,
    keys: [],
    ages: [{ use: 'mac', ageMs: 3_600_000 }],
    keyless: { mac: 0 },
    maxAgeMs: 86_400_000,
  };
  readonly stats = {
    type: 'type-1',
    connecting: 0,
    ready: 2,
    full: 0,
    draining: 0,
    down: 0,
    pending: 0,
    inFlight: 3,
    responded: 0,
    timedOut: 0,
    late: 0,
    duplicates: 0,
    unmatched: 0,
    badMessages: 0,
    badFrames: 0,
    signOns: 0,
    badMacs: 0,
    stanless: 0,
    hsmFailures: 0,
    roundTrips: new RoundTrips().snapshot(),
    keyExchange: this.keys,
    certificates: [{ use: 'own', expiresAtMs: 90 * 86_400_000 }],
  } as unknown as Changeable<SwitchStats>;
  readonly hsm = [deviceOf('device', 'hsm-1'), deviceOf('device', 'hsm-2'), deviceOf('token', 'card keys')];
  readonly backlog: {
    queues: Changeable<QueueFigures>[];
    reversalsOwed: number;
    oldestReversals: Backlog['oldestReversals'];
    held: number | undefined;
    needsReview: number;
    webhooks: Changeable<Backlog['webhooks'][number]>[];
    fewStans: Backlog['fewStans'];
    databaseBytes: number;
  } = {
    queues: WORK_NAMES.map((queue) => ({
      queue,
      ready: 3,
      active: 2,
      waiting: 5,
      retry: 1,
      dead: 0,
      oldestReadySeconds: 1,
    })),
    reversalsOwed: 20,
    oldestReversals: [{ acquirerId: 1, processorId: 5, seconds: 40 }],
    held: undefined,
    needsReview: 0,
    webhooks: [
      { acquirerId: 1, integratorId: 7, serves: 'transactions', isDisabled: false, pending: 40, oldestSeconds: 20 },
    ],
    fewStans: [],
    databaseBytes: 1e9,
  };
  /** Of node_exporter and postgres_exporter. */
  readonly exporters = {
    'node_filesystem_avail_bytes{fstype="ext4",mountpoint="/"}': 60e9,
    'node_filesystem_size_bytes{fstype="ext4",mountpoint="/"}': 100e9,
    node_timex_offset_seconds: 0.002,
    node_timex_sync_status: 1,
    pg_stat_archiver_last_archive_age: 40,
    pg_stat_archiver_failed_count: 0,
    pg_replication_lag_seconds: 0,
  };
  readonly faults = new Map<string, string>();
  /** Of a minute; 0 while no phone reaches the gateway. */
  tapsAMinute = TAPS_A_MINUTE;
  approvedAMinute = TAPS_A_MINUTE;
  /** Connections that another process has to the same switch. */
  readyAtOther = 2;
  hasDatabase = true;
  isUp = true;
  isKnown = true;
  readonly #metrics = new Metrics();
  readonly #roundTrips = new RoundTrips();
  readonly #requests: RequestLog;
  readonly #values = new Map<string, string[]>();
  #scrapes = 0;

  constructor() {
    const { registry } = this.#metrics;
    const switches = [['1 5', { stats: this.stats }]] as const;
    registerSwitchMetrics(registry, switches);
    registerKeyMetrics(registry, switches);
    registerHsmMetrics(registry, { deviceStates: () => this.hsm });
    registerMessageMetrics(registry, { counts: this.messages });
    registerUnusable(registry, () => this.faults);
    registerCertificates(registry, switches, () => 90 * 86_400_000);
    registerBacklogMetrics(registry, async () => {
      if (!this.hasDatabase) throw new Error('unavailable');
      return this.backlog;
    });
    this.#requests = this.#metrics.watchRequests(UNLOGGED as unknown as RequestLog);
  }

  queue(name: string): Changeable<QueueFigures> {
    return this.backlog.queues.find(({ queue }) => queue === name)!;
  }

  respond(status: number, seconds: number, times: number): void {
    const reply = { statusCode: status, elapsedTime: seconds * 1_000 };
    for (let time = 0; time < times; time++) this.#requests.responded(TAP as never, reply as never);
  }

  refuse(resource: OverloadedResource, times: number): void {
    for (let time = 0; time < times; time++) this.#requests.overloaded(TAP as never, resource);
    this.respond(503, 0.001, times);
  }

  decide(disposition: string, times: number, processor = '5'): void {
    const outcome = { disposition, scheme: 'visa', acquirer: '1', processor };
    for (let time = 0; time < times; time++) this.#metrics.countOutcome(outcome);
  }

  /** Also counts the outcome, as the gateway does. */
  decline(code: string, times: number): void {
    this.decide('Declined', times);
    for (let time = 0; time < times; time++) this.#metrics.countDecline({ acquirer: '1', processor: '5', code });
  }

  /** A command to an HSM device. */
  takeTime(seconds: number, times: number): void {
    for (let time = 0; time < times; time++) this.#roundTrips.record(seconds * 1_000);
    this.hsm[0]!.roundTrips = this.#roundTrips.snapshot();
  }

  commit(seconds: number, times: number): void {
    for (let time = 0; time < times; time++) this.#metrics.recordCommit(seconds, 4);
  }

  /** A minute of ordinary taps, and the scrape at its end. */
  async scrape(): Promise<void> {
    this.respond(200, 0.1, this.tapsAMinute);
    this.decide('Approved', Math.min(this.tapsAMinute, this.approvedAMinute));
    this.commit(0.005, this.tapsAMinute);
    this.takeTime(0.004, this.tapsAMinute);
    this.messages.kept += this.tapsAMinute;
    if (this.isKnown) this.#add('up{job="tapwire",instance="gateway-1"}', this.isUp ? '1' : '0');
    for (const [series, value] of Object.entries(this.exporters)) this.#add(series, String(value));
    const other = 'acquirer="1",processor="5",type="type-1",state="ready",job="tapwire",instance="gateway-2"';
    this.#add(`tapwire_switch_connections{${other}}`, String(this.readyAtOther));
    for (const line of (await this.#metrics.text()).split('\n')) {
      const [, name, labels, value] = /^(\w+)(?:\{(.*)\})? (\S+)$/.exec(line) ?? [];
      if (name === undefined || !OWN.test(name)) continue;
      const all = [labels, 'job="tapwire"', 'instance="gateway-1"'].filter((each) => each !== undefined).join(',');
      this.#add(`${name}{${all}}`, value!);
    }
    this.#scrapes++;
  }

  /** What promtool takes: `_` for a scrape before the first value of a series, `stale` for one without a value after it. */
  series(): readonly { readonly series: string; readonly values: string }[] {
    const toEnd = (values: readonly string[]) => [...values, ...Array(this.#scrapes - values.length).fill('stale')];
    return [...this.#values].map(([series, values]) => ({ series, values: toEnd(values).join(' ') }));
  }

  #add(series: string, value: string): void {
    const values = this.#values.get(series) ?? [];
    this.#values.set(series, values);
    while (values.length < this.#scrapes) values.push(values.length === 0 || values.at(-1) === '_' ? '_' : 'stale');
    values.push(value);
  }
}

function deviceOf(kind: HsmDeviceState['kind'], name: string): Changeable<HsmDeviceState> {
  return {
    kind,
    name,
    address: '10.0.0.1:1500',
    status: 'ready',
    connectionsReady: 4,
    connections: 4,
    outstanding: 0,
    queued: 0,
    succeeded: 100,
    failures: {},
    refusals: {},
    connectionsLost: 0,
    circuitOpenings: 0,
    lastFailure: undefined,
    firmware: undefined,
    lmkCheckValue: undefined,
    roundTrips: new RoundTrips().snapshot(),
  };
}
