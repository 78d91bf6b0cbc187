import type { ConnectionSummary } from '../../connection/switch-connections.ts';

/** A histogram that only grows: how many were at most so long, bound by bound, and how many there were. */
export interface Timings {
  /** Seconds; a last bucket without bound follows. */
  readonly bounds: readonly number[];
  readonly counts: readonly number[];
}

export interface CountedOutcomes {
  /** `<acquirer> <processor>`; empty where no switch was asked. */
  readonly processor: string;
  readonly scheme: string;
  readonly disposition: string;
  readonly count: number;
}

/** What one switch's lines have seen in one process. */
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

/** What one process counts since its start. Rates are made of two of them, by whoever looks. */
export interface ProcessFigures {
  readonly role: string;
  readonly host: string;
  readonly pid: number;
  readonly startedAtMs: number;
  /** On the process's monotonic clock. */
  readonly atMs: number;
  readonly isDraining: boolean;
  /** Share of the time that the event loop was busy, since the last ones. */
  readonly busy: number;
  readonly rssBytes: number;
  readonly taps: Timings & { readonly failed: number };
  readonly commits: Timings;
  readonly commitWrites: number;
  readonly clients: { readonly idle: number; readonly used: number; readonly waiting: number };
  readonly outcomes: readonly CountedOutcomes[];
  readonly switches: readonly SwitchFigures[];
  /** Attempts' messages, and those for which there was no time. */
  readonly messages: { readonly kept: number; readonly dropped: number };
}

/** What was asked of a process by a person at a console, which may be that of another one. */
export type ProcessCommand =
  | { readonly do: 'drain' | 'resume' }
  | { readonly do: 'signOff' | 'signOn'; readonly name: string; readonly line: string };
