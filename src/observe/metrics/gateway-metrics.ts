import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import type { Registry } from 'prom-client';
import type { TapLoad } from '../../basics/limits/concurrency-limit.ts';
import { COMMITS, type CommitReport } from '../../store/postgres/group-commit.ts';
import type { Database } from '../../store/postgres/open-database.ts';
import type { Backlog } from '../backlog.ts';
import type { Metrics } from './metrics.ts';
import { registerSnapshot, type Sample } from './switch-metrics.ts';

const JOB_STATES = ['ready', 'active', 'waiting', 'retry', 'dead'] as const;

/**
 * Queues, reversals and webhooks of the installation. While the database is unavailable, a scrape omits only these
 * metrics.
 */
export function registerBacklogMetrics(registry: Registry, read: () => Promise<Backlog>): void {
  const gauge = (name: string, help: string, samples: (backlog: Backlog) => readonly Sample[]) =>
    registerSnapshot(registry, {
      name,
      help,
      type: 'gauge',
      aggregator: 'first',
      read: () => read().then(samples, () => []),
    });

  gauge('tapwire_jobs', 'Jobs by queue and state; dead jobs failed permanently', ({ queues }) =>
    queues.flatMap(({ queue, ...figures }) =>
      JOB_STATES.map((state) => ({ labels: { queue, state }, value: figures[state] })),
    ),
  );
  gauge('tapwire_job_oldest_ready_seconds', 'How long the oldest job that is due has waited', ({ queues }) =>
    queues.map(({ queue, oldestReadySeconds }) => ({ labels: { queue }, value: oldestReadySeconds ?? 0 })),
  );
  gauge('tapwire_reversals_owed', 'Transactions whose outcome at a switch is uncertain', ({ reversalsOwed }) => [
    { labels: {}, value: reversalsOwed },
  ]);
  gauge('tapwire_needs_review', 'Transactions that need review by a person', ({ needsReview }) => [
    { labels: {}, value: needsReview },
  ]);
  gauge(
    'tapwire_oldest_reversal_seconds',
    'How long the oldest reversal of each processor has been required without an acknowledgement',
    ({ oldestReversals }) =>
      oldestReversals.map(({ acquirerId, processorId, seconds }) => ({
        labels: { acquirer: acquirerId, processor: processorId },
        value: Math.round(seconds),
      })),
  );
  gauge('tapwire_held_references', 'References held after a restore; absent if no lost window is open', ({ held }) =>
    held === undefined ? [] : [{ labels: {}, value: held }],
  );
  gauge('tapwire_webhooks_pending', 'Events that a receiver has not accepted yet', ({ webhooks }) =>
    webhooks.map(({ acquirerId, integratorId, serves, pending }) => ({
      labels: { acquirer: acquirerId, integrator: integratorId, serves },
      value: pending,
    })),
  );
  gauge(
    'tapwire_oldest_webhook_seconds',
    'Age of the oldest event that a receiver has not accepted yet',
    ({ webhooks }) =>
      webhooks.map(({ acquirerId, integratorId, serves, oldestSeconds }) => ({
        labels: { acquirer: acquirerId, integrator: integratorId, serves },
        value: Math.round(oldestSeconds),
      })),
  );
  gauge('tapwire_stans_left', 'STANs left before the cut-over, for scopes with few', ({ fewStans }) =>
    fewStans.map(({ scope, left }) => {
      const [acquirer, ...terminal] = scope.split(' ');
      return { labels: { acquirer: acquirer!, terminal: terminal.join(' ') }, value: left };
    }),
  );
  gauge('tapwire_database_bytes', 'Size of the database', ({ databaseBytes }) => [
    { labels: {}, value: databaseBytes },
  ]);
}

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

/** How near a process is to refusing taps. */
export function registerTapLoad(registry: Registry, load: TapLoad): void {
  registerSnapshot(registry, {
    name: 'tapwire_taps_in_work',
    help: 'Taps that need this process or its database now, without those that wait for a switch',
    type: 'gauge',
    read: () => [{ labels: {}, value: load.count }],
  });
  registerSnapshot(registry, {
    name: 'tapwire_taps_in_work_limit',
    help: 'Number of taps in work at which new ones are refused',
    type: 'gauge',
    read: () => [{ labels: {}, value: load.most }],
  });
}
