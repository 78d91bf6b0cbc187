import { readFileSync } from 'node:fs';
import type { TapLoad } from '../basics/limits/concurrency-limit.ts';
import { createFiguresReader, type FiguresParts } from '../console/read-figures.ts';
import { createBacklogReader } from '../observe/backlog.ts';
import { startMinuteLog } from '../observe/figures.ts';
import {
  registerBacklogMetrics,
  registerDatabaseMetrics,
  registerTapLoad,
  watchCommits,
} from '../observe/metrics/gateway-metrics.ts';
import { Metrics } from '../observe/metrics/metrics.ts';
import {
  registerHsmMetrics,
  registerKeyMetrics,
  registerMessageMetrics,
  registerSwitchMetrics,
  registerUnusable,
  type WatchedMessages,
  type WatchedSwitches,
} from '../observe/metrics/switch-metrics.ts';
import { openTracing } from '../observe/tracing/open-tracing.ts';
import type { Tracing } from '../observe/tracing/tracing.ts';
import type { HsmDevices } from '../switching/hsm/hsm-calls.ts';
import type { Databases } from './open-stores.ts';
import type { Opening } from './opening.ts';

/** The metrics of this process; each component adds its own. */
export function openMetrics(
  { config, closers }: Opening,
  {
    databases,
    messages,
    tapLoad,
    switches,
    devices,
  }: {
    readonly databases: Databases;
    readonly messages: WatchedMessages;
    readonly tapLoad: TapLoad;
    readonly switches: (WatchedSwitches & { readonly faults: ReadonlyMap<string, string> }) | undefined;
    readonly devices: HsmDevices | undefined;
  },
): Metrics {
  const metrics = new Metrics();
  // One Prometheus may read several cells.
  if (config.CELL_NAME !== undefined) metrics.registry.setDefaultLabels({ cell: config.CELL_NAME });
  registerDatabaseMetrics(metrics.registry, databases);
  registerBacklogMetrics(metrics.registry, createBacklogReader(databases.reports));
  registerTapLoad(metrics.registry, tapLoad);
  closers.push(watchCommits(metrics));
  if (devices) registerHsmMetrics(metrics.registry, devices);
  if (!switches) return metrics;
  registerSwitchMetrics(metrics.registry, switches);
  registerUnusable(metrics.registry, () => switches.faults);
  registerKeyMetrics(metrics.registry, switches);
  registerMessageMetrics(metrics.registry, messages);
  return metrics;
}

/** Undefined without a collector; tracing then costs nothing. */
export async function openTraces({ config, log, closers }: Opening): Promise<Tracing | undefined> {
  const opened = await openTracing({
    endpoint: config.OTEL_EXPORTER_OTLP_ENDPOINT,
    share: config.OTEL_TRACES_SAMPLER_ARG,
    env: config.TAPWIRE_ENV,
    role: config.TAPWIRE_ROLE,
    log,
  });
  if (opened) closers.push(() => opened.close());
  return opened?.tracing;
}

export interface StartedAs {
  /** The address on which it listens. */
  readonly url: string;
  /** The URL of the database. */
  readonly databaseUrl: string;
  /** Number of configured processors, and of those that are unusable. */
  readonly processors: number;
  readonly unusable: number;
}

/** Logs the start with version, role, environment and database. */
export function logStart({ config, log }: Opening, { url, databaseUrl, processors, unusable }: StartedAs): void {
  const { TAPWIRE_ENV: env, TAPWIRE_ROLE: role } = config;
  const database = placeOf(databaseUrl);
  log.info({ version: ownVersion(), role, env, url, database, processors, unusable }, 'Tapwire is up');
}

/** Logs the figures of each minute. */
export function logMinutes(
  { config: { TAPWIRE_ROLE: role, CELL_NAME: cell }, log, closers }: Opening,
  parts: Omit<FiguresParts, 'role' | 'cell'>,
): void {
  closers.push(startMinuteLog(createFiguresReader({ ...parts, role, cell }), log));
}

/** Host, port and name of a database. User, password and parameters, which can contain a password, are omitted. */
function placeOf(url: string): string {
  const { protocol = '', hostname, port, pathname } = URL.parse(url) ?? {};
  if (!protocol.startsWith('postgres')) return 'unknown'; // its path may contain a password
  return `${hostname}${port === '' ? '' : `:${port}`}${pathname}`;
}

/** The version of this installation, `0.1.0`. */
function ownVersion(): string {
  const manifest = readFileSync(new URL('../../package.json', import.meta.url), 'utf8');
  return (JSON.parse(manifest) as { version: string }).version;
}
