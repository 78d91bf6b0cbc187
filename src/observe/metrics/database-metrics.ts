import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import type { Registry } from 'prom-client';
import { COMMITS, type CommitReport } from '../../store/postgres/group-commit.ts';
import type { Database } from '../../store/postgres/open-database.ts';
import type { Metrics } from './metrics.ts';
import { registerSnapshot } from './snapshot-metric.ts';

/** The database connection pools by purpose, under OpenTelemetry's names. */
export function registerDatabaseMetrics(registry: Registry, pools: Readonly<Record<string, Database>>): void {
  const named = Object.entries(pools).map(([name, pool]) => [{ db_client_connection_pool_name: name }, pool] as const);
  registerSnapshot(registry, {
    name: 'db_client_connection_count',
    help: 'Database connections by state',
    type: 'gauge',
    read: () =>
      named.flatMap(([name, pool]) => [
        { labels: { ...name, db_client_connection_state: 'idle' }, value: pool.idleCount },
        { labels: { ...name, db_client_connection_state: 'used' }, value: pool.totalCount - pool.idleCount },
      ]),
  });
  registerSnapshot(registry, {
    name: 'db_client_connection_pending_requests',
    help: 'Callers that wait for a database connection',
    type: 'gauge',
    read: () => named.map(([labels, pool]) => ({ labels, value: pool.waitingCount })),
  });
}

/** Measures every group commit of this process. @returns a function that stops the measurement */
export function watchCommits(metrics: Metrics): () => void {
  const record = (report: unknown) => {
    const { seconds, writes } = report as CommitReport;
    metrics.recordCommit(seconds, writes);
  };
  subscribe(COMMITS, record);
  return () => unsubscribe(COMMITS, record);
}
