import type { Registry } from 'prom-client';
import type { Backlog } from '../backlog.ts';
import { registerSnapshot, type Sample } from './snapshot-metric.ts';

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
  gauge('tapwire_webhooks_pending', 'Events that a receiver has not accepted yet', ({ webhooks }) =>
    webhooks.map(({ acquirerId, integratorId, serves, pending }) => ({
      labels: { acquirer: acquirerId, integrator: integratorId, serves },
      value: pending,
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
