import type { ConnectionSummary } from '../switching/connection/switch-connections.ts';

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
  readonly answered: number;
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
  /** On the process's monotonic clock. */
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
  | { readonly do: 'signOff' | 'signOn'; readonly name: string; readonly line: string };
