import type { Health, Readiness } from '../../observe/health.ts';
import { metricsOf } from '../../observe/metrics/merge-metrics.ts';
import type { Metrics } from '../../observe/metrics/metrics.ts';
import type { Siblings } from './siblings.ts';

/** What probes and scrapes see: of this process, or of its whole group. */
export interface Shown {
  readonly checks: {
    readiness(): Promise<Readiness>;
    switchStats(): Promise<Readonly<Record<string, unknown>>>;
  };
  readonly metrics: { text(): Promise<string> };
}

/**
 * A load balancer and Prometheus know one address, so each response speaks for all processes behind it. If the primary
 * does not respond, the response speaks for this process alone.
 */
export function shownFor(siblings: Siblings | undefined, health: Health, metrics: Metrics): Shown {
  const own = { readiness: () => health.readiness(), switchStats: async () => health.switchStats() };
  if (!siblings) return { checks: own, metrics };
  siblings.report({
    metrics: () => metricsOf(metrics.registry),
    health: async () => ({ readiness: await own.readiness(), switches: await own.switchStats() }),
  });
  return {
    checks: {
      readiness: async () => (await siblings.ask('health'))?.readiness ?? own.readiness(),
      switchStats: async () => (await siblings.ask('health'))?.switches ?? own.switchStats(),
    },
    metrics: { text: async () => (await siblings.ask('metrics')) ?? metrics.text() },
  };
}
