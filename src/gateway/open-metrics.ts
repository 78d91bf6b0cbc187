import { createBacklogReader } from '../ops/backlog.ts';
import { registerBacklogMetrics } from '../ops/metrics/backlog-metrics.ts';
import { registerDatabaseMetrics, watchCommits } from '../ops/metrics/database-metrics.ts';
import { Metrics } from '../ops/metrics/metrics.ts';
import { registerSwitchMetrics, type WatchedSwitches } from '../ops/metrics/switch-metrics.ts';
import type { Database } from '../store/postgres/open-database.ts';
import type { Closers } from './closers.ts';

/** The figures of this process, filled by whoever has them. */
export function openMetrics(database: Database, switches: WatchedSwitches | undefined, closers: Closers): Metrics {
  const metrics = new Metrics();
  registerDatabaseMetrics(metrics.registry, database);
  registerBacklogMetrics(metrics.registry, createBacklogReader(database));
  closers.push(watchCommits(metrics));
  if (switches) registerSwitchMetrics(metrics.registry, switches);
  return metrics;
}
