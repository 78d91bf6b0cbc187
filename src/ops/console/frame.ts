import type { Backlog, PendingWebhooks } from '../backlog.ts';
import type { ProcessFigures, SwitchFigures } from './figures.ts';

/** What the console shows of one moment, all processes together. */
export interface Frame {
  /** Milliseconds since 1970. */
  readonly at: number;
  readonly taps: TapRates;
  readonly outcomes: readonly OutcomeRate[];
  readonly switches: readonly SwitchRates[];
  readonly commits: { readonly perSecond: number; readonly p50: number | null; readonly p99: number | null } | null;
  readonly processes: readonly ProcessState[];
  readonly backlog: ConsoleBacklog | null;
}

/**
 * Latencies in milliseconds, null while there are none: of the installation from the request line to the answer's last byte, of an
 * acquirer the round trips to its switches.
 */
export interface TapRates {
  readonly perSecond: number;
  /** Indeterminate, or nothing could go online. */
  readonly undecidedPerSecond: number;
  /** Answered with 5xx; null for an acquirer, since a tap that failed so may be nobody's. */
  readonly failedPerSecond: number | null;
  readonly p50: number | null;
  readonly p95: number | null;
  readonly p99: number | null;
}

export interface OutcomeRate {
  readonly processor: string;
  readonly scheme: string;
  readonly disposition: string;
  /** Since the processes began. */
  readonly total: number;
  readonly perSecond: number;
}

export interface SwitchRates extends Omit<SwitchFigures, 'roundTrips'> {
  readonly processId: string;
  readonly answeredPerSecond: number;
  /** Milliseconds of round trips. */
  readonly p50: number | null;
  readonly p99: number | null;
}

export interface ProcessState
  extends Pick<
    ProcessFigures,
    'role' | 'host' | 'pid' | 'startedAtMs' | 'isDraining' | 'busy' | 'rssBytes' | 'clients' | 'messages'
  > {
  readonly id: string;
}

/** A job that was given up. */
export interface ShownDeadLetter {
  readonly id: string;
  readonly queue: string;
  readonly reason: string;
  readonly names: Readonly<Record<string, string | number>>;
  readonly diedAt: Date;
}

/** What waits, and what the database says of itself. */
export interface ConsoleBacklog {
  readonly queues: Backlog['queues'];
  readonly owed: readonly OwedReversals[];
  readonly webhooks: readonly PendingWebhooks[];
  readonly deadLetters: readonly ShownDeadLetter[];
  readonly database: DatabaseState | null;
}

export interface OwedReversals {
  readonly acquirerId: number;
  readonly reversalsOwed: number;
  readonly needsReview: number;
}

export interface DatabaseState {
  readonly bytes: number;
  readonly connections: number;
  readonly active: number;
  readonly mostConnections: number;
}

/** One moment of the whole installation, before it is shown to anybody. */
export interface Moment extends Omit<Frame, 'backlog'> {
  /** What each acquirer's own switches were asked and answered. */
  readonly tapsOfAcquirers: ReadonlyMap<number, TapRates>;
}

const NO_TAPS: TapRates = {
  perSecond: 0,
  undecidedPerSecond: 0,
  failedPerSecond: null,
  p50: null,
  p95: null,
  p99: null,
};

/**
 * A moment as it is shown: whole, or to an acquirer's people its own switches, outcomes and troubles, and nothing of the
 * installation.
 */
export function frameOf(moment: Moment, acquirerId: number | undefined, backlog: ConsoleBacklog | null): Frame {
  const { tapsOfAcquirers: _, ...whole } = moment;
  if (acquirerId === undefined) return { ...whole, backlog };
  return {
    at: moment.at,
    taps: tapsOf(moment, acquirerId),
    outcomes: moment.outcomes.filter(({ processor }) => acquirerOf(processor) === acquirerId),
    switches: moment.switches.filter(({ name }) => acquirerOf(name) === acquirerId),
    commits: null,
    processes: [],
    backlog,
  };
}

/** Of the whole installation, or of one acquirer. */
export function tapsOf(
  { taps, tapsOfAcquirers }: Pick<Moment, 'taps' | 'tapsOfAcquirers'>,
  acquirerId?: number,
): TapRates {
  return acquirerId === undefined ? taps : (tapsOfAcquirers.get(acquirerId) ?? NO_TAPS);
}

/** Switches are named after their acquirer: `1 3`. Where no switch was asked there is no name, and 0 is nobody. */
export function acquirerOf(name: string): number {
  return Number(name.split(' ', 1)[0]);
}
