import type { ConnectionSummary } from '../switching/connection/switch-connections.ts';
import type { Log, LogLevel } from './log.ts';

/** A cumulative histogram: the counts per bound, and the total. */
export interface Timings {
  /** In seconds; a last bucket without an upper bound follows. */
  readonly bounds: readonly number[];
  readonly counts: readonly number[];
}

export interface CountedOutcomes {
  /** `<acquirer> <processor>`; empty when no switch was involved. */
  readonly processor: string;
  readonly scheme: string;
  readonly disposition: string;
  readonly count: number;
}

export interface CountedDeclines {
  /** `<acquirer> <processor>`. */
  readonly processor: string;
  /** Response code; `other` if the interface does not define it. */
  readonly code: string;
  readonly count: number;
}

/** The counters of one switch's connections in one process. */
export interface SwitchFigures {
  /** `<acquirer> <processor>`. */
  readonly name: string;
  readonly type: string;
  readonly availability: string;
  readonly inFlight: number;
  readonly pending: number;
  readonly responded: number;
  readonly timedOut: number;
  readonly late: number;
  readonly unmatched: number;
  readonly reconnects: number;
  readonly badMacs: number;
  readonly lastEchoAtMs: number | null;
  readonly roundTrips: Timings;
  readonly lines: readonly ConnectionSummary[];
}

/** The counters of one process since its start. The console computes rates from two readings. */
export interface ProcessFigures {
  readonly role: string;
  /** `CELL_NAME`; null without it. */
  readonly cell: string | null;
  readonly host: string;
  readonly pid: number;
  readonly startedAtMs: number;
  /** When the figures were read, on the process's monotonic clock. */
  readonly atMs: number;
  readonly isDraining: boolean;
  /** Share of time during which the event loop was busy, since the previous reading. */
  readonly busy: number;
  readonly rssBytes: number;
  readonly taps: Timings & { readonly failed: number };
  readonly commits: Timings;
  readonly commitWrites: number;
  readonly clients: { readonly idle: number; readonly used: number; readonly waiting: number };
  readonly outcomes: readonly CountedOutcomes[];
  readonly declines: readonly CountedDeclines[];
  readonly switches: readonly SwitchFigures[];
  /** Exchanges whose messages were stored, and those that were dropped. */
  readonly messages: { readonly kept: number; readonly dropped: number };
}

/** A command from a console, which may be served by another process. */
export type ProcessCommand =
  | { readonly do: 'drain' | 'resume' }
  | { readonly do: 'log'; readonly level: LogLevel; readonly minutes: number }
  | { readonly do: 'signOff' | 'signOn'; readonly name: string; readonly line: string };

const EVERY_MS = 60_000;
const MEGABYTE = 1_048_576;

/**
 * Logs one line per minute on info with the figures of the process, also when idle. The log thus shows the normal
 * state, and silence means that the process does not run.
 *
 * @returns a function that stops the log
 */
export function startMinuteLog(read: () => Promise<ProcessFigures>, log: Log, everyMs = EVERY_MS): () => void {
  let before: ProcessFigures | undefined;
  const tell = async () => {
    const now = await read();
    if (before) log.info(minuteOf(before, now), 'figures of the last minute');
    before = now;
  };
  const report = (error: unknown) => log.error({ error }, 'figures of the last minute could not be read');
  void tell().catch(report);
  const timer = setInterval(() => void tell().catch(report), everyMs).unref();
  return () => clearInterval(timer);
}

/** The difference of two readings. */
export function minuteOf(before: ProcessFigures, now: ProcessFigures): Readonly<Record<string, unknown>> {
  const counts = now.taps.counts.map((count, at) => count - (before.taps.counts[at] ?? 0));
  const taps = { ...now.taps, counts };
  return {
    taps: sum(counts),
    failed: now.taps.failed - before.taps.failed,
    p50Ms: quantileMs(taps, 0.5),
    p99Ms: quantileMs(taps, 0.99),
    outcomes: outcomesBetween(before, now),
    commits: sum(now.commits.counts) - sum(before.commits.counts),
    busy: Math.round(now.busy * 100) / 100,
    rssMegabytes: Math.round(now.rssBytes / MEGABYTE),
    switches: Object.fromEntries(now.switches.map(({ name, availability }) => [name, availability])),
  };
}

/** The bound of the bucket that contains the quantile; null without values, and beyond the last bound. */
function quantileMs({ bounds, counts }: Timings, share: number): number | null {
  const wanted = sum(counts) * share;
  if (wanted === 0) return null;
  let below = 0;
  const at = counts.findIndex((count) => {
    below += count;
    return below >= wanted;
  });
  const bound = bounds[at];
  return bound === undefined ? null : bound * 1_000;
}

function outcomesBetween(before: ProcessFigures, now: ProcessFigures): Record<string, number> {
  const totals: Record<string, number> = {};
  const add = ({ outcomes }: ProcessFigures, sign: 1 | -1) => {
    for (const { disposition, count } of outcomes) totals[disposition] = (totals[disposition] ?? 0) + sign * count;
  };
  add(now, 1);
  add(before, -1);
  return Object.fromEntries(Object.entries(totals).filter(([, count]) => count > 0));
}

function sum(counts: readonly number[]): number {
  return counts.reduce((total, count) => total + count, 0);
}
