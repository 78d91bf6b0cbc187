import type { ProcessFigures, Timings } from './figures.ts';
import type { Log } from './log.ts';

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
