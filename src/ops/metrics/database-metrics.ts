import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import type { Registry } from 'prom-client';
import { COMMITS, type CommitTold } from '../../store/postgres/group-commit.ts';
import type { Database } from '../../store/postgres/open-database.ts';
import type { Metrics } from './metrics.ts';
import { registerSnapshot } from './snapshot-metric.ts';

/** The pool of database clients, under OpenTelemetry's names. */
export function registerDatabaseMetrics(registry: Registry, database: Database): void {
  const pool = { db_client_connection_pool_name: 'tapwire' };
  registerSnapshot(registry, {
    name: 'db_client_connection_count',
    help: 'Database clients by state',
    type: 'gauge',
    read: () => [
      { labels: { ...pool, db_client_connection_state: 'idle' }, value: database.idleCount },
      { labels: { ...pool, db_client_connection_state: 'used' }, value: database.totalCount - database.idleCount },
    ],
  });
  registerSnapshot(registry, {
    name: 'db_client_connection_pending_requests',
    help: 'Callers that wait for a database client',
    type: 'gauge',
    read: () => [{ labels: pool, value: database.waitingCount }],
  });
}

/** Measures every group commit of this process. @returns what ends it */
export function watchCommits(metrics: Metrics): () => void {
  const record = (told: unknown) => {
    const { seconds, writes } = told as CommitTold;
    metrics.recordCommit(seconds, writes);
  };
  subscribe(COMMITS, record);
  return () => unsubscribe(COMMITS, record);
}
