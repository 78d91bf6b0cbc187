import type { Worker } from 'node:cluster';
import { mergeReadiness, mergeSwitches } from '../../observe/merge-health.ts';
import { addDeparted, type MetricValues, mergeMetrics } from '../../observe/metrics/merge-metrics.ts';
import type { FromMember, FromPrimary, GroupReports, HealthReport, MemberReports, ReportName } from './messages.ts';

/**
 * A process that does not answer within this time is left out of the health report, and its last metrics are used.
 * Probes wait for one second by default.
 */
const ANSWERED_WITHIN_MS: Readonly<Record<ReportName, number>> = { health: 500, metrics: 2_000 };

interface Reporting {
  readonly number: number;
  readonly worker: Worker;
  readonly state: 'starting' | 'ready' | 'draining';
}

type FromReporting = Extract<FromMember, { kind: 'final' | 'report' | 'askGroup' }>;

/** Collects what the processes of a group report about themselves, for a scrape or probe that one of them received. */
export class GroupReporter {
  readonly #members: () => readonly Reporting[];
  readonly #waiting = new Map<number, (value: MemberReports[ReportName]) => void>();
  readonly #lastMetrics = new Map<Reporting, readonly MetricValues[]>();
  #departed: readonly MetricValues[] = [];
  #asked = 0;

  constructor(members: () => readonly Reporting[]) {
    this.#members = members;
  }

  receive(member: Reporting, message: FromReporting): void {
    if (message.kind === 'final') this.#lastMetrics.set(member, message.metrics);
    else if (message.kind === 'report') this.#waiting.get(message.id)?.(message.value);
    else void this.#answer(member, message);
  }

  /** The counters of an ended process remain in the sums. */
  async forget(member: Reporting): Promise<void> {
    const last = this.#lastMetrics.get(member);
    this.#lastMetrics.delete(member);
    if (last) this.#departed = await addDeparted(this.#departed, last);
  }

  async #answer({ worker }: Reporting, { id, what }: Extract<FromMember, { kind: 'askGroup' }>): Promise<void> {
    const value = what === 'metrics' ? await this.#metrics() : await this.#health();
    if (value !== undefined) send(worker, { kind: 'groupReport', id, value });
  }

  async #metrics(): Promise<GroupReports['metrics']> {
    const members = this.#members().filter(({ state }) => state !== 'starting');
    await Promise.all(
      members.map(async (member) => {
        const metrics = await this.#ask(member, 'metrics');
        if (metrics) this.#lastMetrics.set(member, metrics);
      }),
    );
    const parts = [...this.#lastMetrics].map(([{ number }, metrics]) => ({ process: number, metrics }));
    return mergeMetrics(parts, this.#departed).metrics();
  }

  async #health(): Promise<HealthReport | undefined> {
    const members = this.#members().filter(({ state }) => state === 'ready');
    const reports = (await Promise.all(members.map((member) => this.#ask(member, 'health')))).flatMap(
      (report) => report ?? [],
    );
    if (reports.length === 0) return undefined;
    return {
      readiness: mergeReadiness(reports.map(({ readiness }) => readiness)),
      switches: mergeSwitches(reports.map(({ switches }) => switches)),
    };
  }

  #ask<Name extends ReportName>({ worker }: Reporting, what: Name): Promise<MemberReports[Name] | undefined> {
    const id = ++this.#asked;
    return new Promise((resolve) => {
      const end = (value: MemberReports[ReportName] | undefined) => {
        clearTimeout(timer);
        this.#waiting.delete(id);
        resolve(value as MemberReports[Name] | undefined);
      };
      const timer = setTimeout(end, ANSWERED_WITHIN_MS[what], undefined);
      this.#waiting.set(id, end);
      send(worker, { kind: 'askMember', id, what });
    });
  }
}

/** The exit of a process reports its end. */
export function send(worker: Worker, message: FromPrimary): void {
  if (worker.isConnected()) worker.send(message, undefined, undefined, () => {});
}
