import { HISTORY_RANGES, type HistoryQuery } from '#schemas/console';
import { RESPONSE_CODES } from '#schemas/response-codes';
import type { PortalSession } from '../auth/portal/portal-session.ts';
import type { Timings } from '../observe/figures.ts';
import { ROUND_TRIP_BOUNDS_MS } from '../switching/connection/pool-stats.ts';
import { BEYOND } from './figures-recorder.ts';
import { percentileMs } from './process-rates.ts';
import { type Counts, readFigures, type SwitchCounts } from './store/stored-figures.ts';
import type { TransactionLists } from './store/transaction-list.ts';

const MINUTE_MS = 60_000;

/** Round trips in milliseconds; null without any. */
interface Percentiles {
  readonly p50: number | null;
  readonly p95: number | null;
  readonly p99: number | null;
}

/** What the switches did in one span of time. */
interface HistoryPoint extends Percentiles {
  /** Begin of the span. */
  readonly atMs: number;
  /** Numbers of taps by disposition. */
  readonly outcomes: Counts;
}

interface SwitchHistory extends Percentiles {
  readonly acquirerId: number;
  readonly processorId: number;
  readonly outcomes: Counts;
}

interface CountedReason {
  readonly code: string;
  /** Meaning in the words of the interface. */
  readonly meaning: string;
  readonly count: number;
}

export interface History {
  readonly spanMinutes: number;
  /** The last one is not over. Spans without taps are included. */
  readonly points: readonly HistoryPoint[];
  /** All in sight, whichever is chosen. */
  readonly switches: readonly SwitchHistory[];
  /** The most frequent first. */
  readonly declines: readonly CountedReason[];
}

export type ReadHistory = (viewer: Pick<PortalSession, 'acquirerId'>, query: HistoryQuery) => Promise<History>;

export function createHistoryReader(lists: TransactionLists): ReadHistory {
  return async ({ acquirerId: own }, { range, acquirer, processor }) => {
    const { minutes, spanMinutes } = HISTORY_RANGES[range];
    // The switches of another acquirer are out of sight, so the filter finds nothing.
    if (own !== undefined && acquirer !== undefined && acquirer !== own)
      return { spanMinutes, points: [], switches: [], declines: [] };
    const wanted = { spanMinutes, minutes, own, acquirerId: acquirer, processorId: processor };
    const { nowMs, spans, switches } = await readFigures(lists.of(own), wanted);
    const known = new Map(spans.map((span) => [span.atMs, span]));
    return {
      spanMinutes,
      points: beginsOf(minutes, spanMinutes, nowMs).map((atMs) => ({
        ...{ atMs, outcomes: known.get(atMs)?.outcomes ?? {} },
        ...percentilesOf(known.get(atMs)),
      })),
      switches: switches.map(({ acquirerId, processorId, ...counts }) => ({
        ...{ acquirerId, processorId, outcomes: counts.outcomes },
        ...percentilesOf(counts),
      })),
      declines: reasonsOf(spans),
    };
  };
}

/** In order. Spans begin at multiples of their length since 1970, as `date_bin` from 2000 on does. */
function beginsOf(minutes: number, spanMinutes: number, nowMs: number): number[] {
  const spanMs = spanMinutes * MINUTE_MS;
  const last = Math.floor(nowMs / spanMs) * spanMs;
  const length = minutes / spanMinutes;
  return Array.from({ length }, (_, at) => last - (length - 1 - at) * spanMs);
}

function percentilesOf(counts: SwitchCounts | undefined): Percentiles {
  const timings = timingsOf(counts?.roundTrips ?? {});
  return { p50: percentileMs(timings, 0.5), p95: percentileMs(timings, 0.95), p99: percentileMs(timings, 0.99) };
}

/** Buckets without round trips are not stored. Those of another release may have other bounds. */
function timingsOf(roundTrips: Counts): Timings {
  const stored = Object.keys(roundTrips).filter((bound) => bound !== BEYOND);
  const all = new Set([...ROUND_TRIP_BOUNDS_MS.map((ms) => ms / 1_000), ...stored.map(Number)]);
  const bounds = [...all].sort((one, other) => one - other);
  return { bounds, counts: [...bounds.map((bound) => roundTrips[String(bound)] ?? 0), roundTrips[BEYOND] ?? 0] };
}

function reasonsOf(spans: readonly SwitchCounts[]): CountedReason[] {
  const sums = new Map<string, number>();
  for (const { declines } of spans)
    for (const [code, count] of Object.entries(declines)) sums.set(code, (sums.get(code) ?? 0) + count);
  return [...sums]
    .map(([code, count]) => ({ code, meaning: RESPONSE_CODES[code] ?? 'Unknown response code', count }))
    .sort((one, other) => other.count - one.count);
}
