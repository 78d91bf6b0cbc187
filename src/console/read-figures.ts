import { hostname } from 'node:os';
import { performance } from 'node:perf_hooks';
import type { CountedDeclines, CountedOutcomes, ProcessFigures, SwitchFigures, Timings } from '../observe/figures.ts';
import type { Health } from '../observe/health.ts';
import type { Metrics } from '../observe/metrics/metrics.ts';
import type { Database } from '../store/postgres/open-database.ts';
import type { AcquirerSwitch } from '../switching/switches/acquirer-switch.ts';

/** The open switches by name, and the reasons why the others cannot be opened. */
export type ConsoleSwitches = Iterable<readonly [string, AcquirerSwitch]> & {
  readonly faults: ReadonlyMap<string, string>;
};

export interface FiguresParts {
  readonly role: string;
  readonly cell: string | undefined;
  readonly metrics: Metrics;
  readonly databases: Readonly<Record<string, Database>>;
  readonly health: Health;
  readonly switches: ConsoleSwitches | undefined;
  readonly messages: { readonly counts: ProcessFigures['messages'] };
}

/** The path on which phones submit taps. */
const TAP_ROUTE = '/transactions/mobile';
/** Limits the size of a row of figures; Grafana serves larger installations. */
const MAX_SWITCHES = 200;
const MAX_LINES = 32;
const MAX_OUTCOMES = 500;

interface Value {
  readonly metricName?: string;
  readonly labels: Readonly<Record<string, string | number | undefined>>;
  readonly value: number;
}

/** Creates the reader for the figures of this process. */
export function createFiguresReader(parts: FiguresParts): () => Promise<ProcessFigures> {
  const { role, cell = null, metrics, databases, health, switches, messages } = parts;
  const startedAtMs = Date.now() - Math.round(process.uptime() * 1_000);
  let before = performance.eventLoopUtilization();
  return async () => {
    const now = performance.eventLoopUtilization();
    const busy = performance.eventLoopUtilization(now, before).utilization;
    before = now;
    const valuesOf = async (name: string) =>
      ((await metrics.registry.getSingleMetric(name)?.get())?.values ?? []) as readonly Value[];
    const taps = (await valuesOf('http_server_request_duration_seconds')).filter(
      ({ labels }) => labels.http_route === TAP_ROUTE,
    );
    const failed = taps.filter(({ labels, metricName }) => metricName?.endsWith('_count') && isFailure(labels));
    const writes = (await valuesOf('tapwire_commit_writes')).find(({ metricName }) => metricName?.endsWith('_sum'));
    return {
      ...{ role, cell, host: hostname(), pid: process.pid, startedAtMs, atMs: performance.now(), busy },
      isDraining: health.isDraining,
      rssBytes: process.memoryUsage.rss(),
      taps: { ...timingsOf(taps), failed: failed.reduce((sum, { value }) => sum + value, 0) },
      commits: timingsOf(await valuesOf('tapwire_commit_duration_seconds')),
      commitWrites: writes?.value ?? 0,
      clients: clientFigures(Object.values(databases)),
      outcomes: (await valuesOf('tapwire_outcomes_total')).slice(0, MAX_OUTCOMES).map(outcomeOf),
      declines: (await valuesOf('tapwire_declines_total')).slice(0, MAX_OUTCOMES).map(declinesOf),
      switches: switches ? figuresOf(switches).slice(0, MAX_SWITCHES) : [],
      messages: messages.counts,
    };
  };
}

function clientFigures(pools: readonly Database[]): ProcessFigures['clients'] {
  const sum = (count: (pool: Database) => number) => pools.reduce((all, pool) => all + count(pool), 0);
  return {
    idle: sum(({ idleCount }) => idleCount),
    used: sum(({ totalCount, idleCount }) => totalCount - idleCount),
    waiting: sum(({ waitingCount }) => waitingCount),
  };
}

function isFailure({ http_response_status_code: status }: Value['labels']): boolean {
  return Number(status) >= 500;
}

function outcomeOf({ labels, value }: Value): CountedOutcomes {
  const { scheme, disposition } = labels;
  return { processor: nameOf(labels), scheme: String(scheme), disposition: String(disposition), count: value };
}

function declinesOf({ labels, value }: Value): CountedDeclines {
  return { processor: nameOf(labels), code: String(labels.code), count: value };
}

/** `<acquirer> <processor>`; empty when no switch was involved. */
function nameOf({ acquirer, processor }: Value['labels']): string {
  return processor ? `${acquirer} ${processor}` : '';
}

/** In Prometheus a bucket includes all lower ones; here each bucket counts only its own. Adds up all series. */
function timingsOf(values: readonly Value[]): Timings {
  const below = new Map<number, number>();
  for (const { metricName, labels, value } of values) {
    if (!metricName?.endsWith('_bucket')) continue;
    const bound = labels.le === '+Inf' ? Number.POSITIVE_INFINITY : Number(labels.le);
    below.set(bound, (below.get(bound) ?? 0) + value);
  }
  const sorted = [...below].sort(([one], [other]) => one - other);
  return {
    bounds: sorted.map(([bound]) => bound).filter(Number.isFinite),
    counts: sorted.map(([, count], at) => count - (at === 0 ? 0 : sorted[at - 1]![1])),
  };
}

/** Those that cannot be opened come first: they must not be missing. */
function figuresOf(switches: ConsoleSwitches): SwitchFigures[] {
  const unusable = [...switches.faults.keys()].map((name) => ({ ...UNUSABLE, name }));
  const names = new Set(switches.faults.keys());
  const open = [...switches].filter(([name]) => !names.has(name));
  return [...unusable, ...open.map(([name, line]) => switchFigures(name, line))];
}

const UNUSABLE: Omit<SwitchFigures, 'name'> = {
  ...{ type: '', availability: 'unusable', lastEchoAtMs: null, lines: [], roundTrips: { bounds: [], counts: [] } },
  ...{ inFlight: 0, pending: 0, responded: 0, timedOut: 0, late: 0, unmatched: 0, reconnects: 0, badMacs: 0 },
};

function switchFigures(name: string, { stats, lines }: AcquirerSwitch): SwitchFigures {
  const { type, availability, inFlight, pending, responded, timedOut, reconnects, badMacs, lastEchoAtMs } = stats;
  const { roundTrips, unmatchedResponses } = stats;
  return {
    ...{ name, type, availability, inFlight, pending, responded, timedOut, reconnects, badMacs, lastEchoAtMs },
    late: stats.late + unmatchedResponses.late,
    unmatched: stats.unmatched,
    roundTrips: { bounds: roundTrips.boundsMs.map((ms) => ms / 1_000), counts: roundTrips.counts },
    lines: lines.lines.slice(0, MAX_LINES),
  };
}
