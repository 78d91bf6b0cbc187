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

/** Milliseconds from the request line to the answer's last byte; null while there are none. */
export interface TapRates {
  readonly perSecond: number;
  readonly failedPerSecond: number;
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

/** A frame as an acquirer's people see it: its own switches, outcomes and troubles, and nothing of the installation. */
export function frameOf(frame: Frame, acquirerId: number | undefined): Frame {
  if (acquirerId === undefined) return frame;
  const isOwn = (name: string) => name.startsWith(`${acquirerId} `);
  const outcomes = frame.outcomes.filter(({ processor }) => isOwn(processor));
  const switches = frame.switches.filter(({ name }) => isOwn(name));
  const busiest = switches.toSorted((one, other) => other.answeredPerSecond - one.answeredPerSecond)[0];
  const perSecond = outcomes.reduce((sum, outcome) => sum + outcome.perSecond, 0);
  const { p50 = null, p99 = null } = busiest ?? {};
  return {
    at: frame.at,
    taps: { perSecond, failedPerSecond: 0, p50, p95: null, p99 },
    outcomes,
    switches,
    commits: null,
    processes: [],
    backlog: frame.backlog && backlogOf(frame.backlog, acquirerId),
  };
}

function backlogOf({ owed, webhooks, deadLetters }: ConsoleBacklog, acquirerId: number): ConsoleBacklog {
  const isOwn = (row: { readonly acquirerId: number }) => row.acquirerId === acquirerId;
  return {
    queues: [],
    owed: owed.filter(isOwn),
    webhooks: webhooks.filter(isOwn),
    deadLetters: deadLetters.filter(({ names }) => names.acquirerId === acquirerId),
    database: null,
  };
}
