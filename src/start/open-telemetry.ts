import type { TapLoad } from '../basics/limits/tap-load.ts';
import { createBacklogReader } from '../observe/backlog.ts';
import type { Log } from '../observe/log.ts';
import { registerBacklogMetrics } from '../observe/metrics/backlog-metrics.ts';
import { registerDatabaseMetrics, watchCommits } from '../observe/metrics/database-metrics.ts';
import { registerHsmMetrics } from '../observe/metrics/hsm-metrics.ts';
import { registerKeyMetrics } from '../observe/metrics/key-metrics.ts';
import { registerMessageMetrics, type WatchedMessages } from '../observe/metrics/message-metrics.ts';
import { Metrics } from '../observe/metrics/metrics.ts';
import { registerSwitchMetrics, type WatchedSwitches } from '../observe/metrics/switch-metrics.ts';
import { registerTapLoad } from '../observe/metrics/tap-load-metrics.ts';
import { openTracing } from '../observe/tracing/open-tracing.ts';
import type { Tracing } from '../observe/tracing/tracing.ts';
import type { HsmDevices } from '../switching/hsm/device-state.ts';
import type { Config } from './config.ts';
import type { Databases } from './open-databases.ts';
import type { Closers } from './opening.ts';

export interface MetricsParts {
  readonly config: Config;
  readonly databases: Databases;
  readonly messages: WatchedMessages;
  readonly tapLoad: TapLoad;
  readonly switches: WatchedSwitches | undefined;
  readonly devices: HsmDevices | undefined;
  readonly closers: Closers;
}

/** The metrics of this process; each component adds its own. */
export function openMetrics({
  config,
  databases,
  messages,
  tapLoad,
  switches,
  devices,
  closers,
}: MetricsParts): Metrics {
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
  registerKeyMetrics(metrics.registry, switches);
  registerMessageMetrics(metrics.registry, messages);
  return metrics;
}

/** Undefined without a collector; tracing then costs nothing. */
export async function openTraces(config: Config, log: Log, closers: Closers): Promise<Tracing | undefined> {
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
