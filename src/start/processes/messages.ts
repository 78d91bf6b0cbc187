import type { Readiness } from '../../observe/health.ts';
import type { MetricValues } from '../../observe/metrics/merge-metrics.ts';

/**
 * What the primary and the gateway processes of one group tell each other. Both run the same version, except during a
 * replacement after an update: then a member that is missing or unknown is ignored.
 */
export interface HealthReport {
  readonly readiness: Readiness;
  /** The statistics of each switch, by name. */
  readonly switches: Readonly<Record<string, unknown>>;
}

/** What a process reports about itself when the primary asks. */
export interface MemberReports {
  readonly metrics: readonly MetricValues[];
  readonly health: HealthReport;
}

/** What the primary answers for the whole group. */
export interface GroupReports {
  /** In the text format of Prometheus. */
  readonly metrics: string;
  readonly health: HealthReport;
}

export type ReportName = keyof MemberReports;

export type FromMember =
  | { readonly kind: 'ready'; readonly url: string }
  /** The start failed: for a person. */
  | { readonly kind: 'failed'; readonly description: string; readonly exitCode: number }
  | { readonly kind: 'alive' }
  /** The last figures, before the process ends. */
  | { readonly kind: 'final'; readonly metrics: readonly MetricValues[] }
  | { readonly kind: 'report'; readonly id: number; readonly value: MemberReports[ReportName] }
  | { readonly kind: 'askGroup'; readonly id: number; readonly what: ReportName };

export type FromPrimary =
  | { readonly kind: 'drain' }
  | { readonly kind: 'askMember'; readonly id: number; readonly what: ReportName }
  | { readonly kind: 'groupReport'; readonly id: number; readonly value: GroupReports[ReportName] };
