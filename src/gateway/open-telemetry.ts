import type { Config } from '../config.ts';
import type { HsmDevices } from '../hsm/device-state.ts';
import type { TapLoad } from '../limits/tap-load.ts';
import { createBacklogReader } from '../ops/backlog.ts';
import type { Log } from '../ops/log.ts';
import { registerBacklogMetrics } from '../ops/metrics/backlog-metrics.ts';
import { registerDatabaseMetrics, watchCommits } from '../ops/metrics/database-metrics.ts';
import { registerHsmMetrics } from '../ops/metrics/hsm-metrics.ts';
import { registerKeyMetrics } from '../ops/metrics/key-metrics.ts';
import { registerMessageMetrics, type WatchedMessages } from '../ops/metrics/message-metrics.ts';
import { Metrics } from '../ops/metrics/metrics.ts';
import { registerSwitchMetrics, type WatchedSwitches } from '../ops/metrics/switch-metrics.ts';
import { registerTapLoad } from '../ops/metrics/tap-load-metrics.ts';
import { openTracing } from '../ops/tracing/open-tracing.ts';
import type { Tracing } from '../ops/tracing/tracing.ts';
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
