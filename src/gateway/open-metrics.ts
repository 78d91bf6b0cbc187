import { createBacklogReader } from '../ops/backlog.ts';
import { registerBacklogMetrics } from '../ops/metrics/backlog-metrics.ts';
import { registerDatabaseMetrics, watchCommits } from '../ops/metrics/database-metrics.ts';
import { registerKeyMetrics } from '../ops/metrics/key-metrics.ts';
import { registerMessageMetrics, type WatchedMessages } from '../ops/metrics/message-metrics.ts';
import { Metrics } from '../ops/metrics/metrics.ts';
import { registerSwitchMetrics, type WatchedSwitches } from '../ops/metrics/switch-metrics.ts';
import type { Closers } from './closers.ts';
import type { Databases } from './open-databases.ts';

/** The metrics of this process; each component adds its own. */
export function openMetrics(
  databases: Databases,
  messages: WatchedMessages,
  switches: WatchedSwitches | undefined,
  closers: Closers,
): Metrics {
  const metrics = new Metrics();
  registerDatabaseMetrics(metrics.registry, databases);
  registerBacklogMetrics(metrics.registry, createBacklogReader(databases.reports));
  closers.push(watchCommits(metrics));
  if (!switches) return metrics;
  registerSwitchMetrics(metrics.registry, switches);
  registerKeyMetrics(metrics.registry, switches);
  registerMessageMetrics(metrics.registry, messages);
  return metrics;
}
