import type { PayloadNames } from '../jobs/queues.ts';
import type { Backlog, PendingWebhooks } from '../observe/backlog.ts';
import type { ProcessFigures, SwitchFigures } from '../observe/figures.ts';

/** The figures of one moment for all processes, as the console shows them. */
export interface Frame {
  /** Milliseconds since 1970. */
  readonly atMs: number;
  readonly taps: TapRates;
  readonly outcomes: readonly OutcomeRate[];
  readonly switches: readonly SwitchRates[];
  readonly commits: { readonly perSecond: number; readonly p50: number | null; readonly p99: number | null } | null;
  readonly processes: readonly ProcessState[];
  readonly backlog: ConsoleBacklog | null;
}

/**
 * Latencies in milliseconds, null without values. For the installation: from the request line to the last byte of
 * the response. For an acquirer: the round trips to its switches.
 */
export interface TapRates {
  readonly perSecond: number;
  /** Indeterminate or UnableToGoOnline. */
  readonly undecidedPerSecond: number;
  /** Responses with 5xx; null for an acquirer, because such a tap may not belong to a known acquirer. */
  readonly failedPerSecond: number | null;
  readonly p50: number | null;
  readonly p95: number | null;
  readonly p99: number | null;
}

export interface OutcomeRate {
  readonly processor: string;
  readonly scheme: string;
  readonly disposition: string;
  /** Total since the start of the processes. */
  readonly total: number;
  readonly perSecond: number;
}

export interface SwitchRates extends Omit<SwitchFigures, 'roundTrips'> {
  readonly processId: string;
  readonly responsesPerSecond: number;
  /** Round trip in milliseconds. */
  readonly p50: number | null;
  readonly p99: number | null;
}

interface ProcessState
  extends Pick<
    ProcessFigures,
    'role' | 'host' | 'pid' | 'startedAtMs' | 'isDraining' | 'busy' | 'rssBytes' | 'clients' | 'messages'
  > {
  readonly id: string;
}

/** A permanently failed job. */
interface ShownDeadLetter {
  readonly id: string;
  readonly queue: string;
  readonly reason: string;
  readonly names: PayloadNames;
  readonly diedAt: Date;
}

/** Pending work, and the state of the database. */
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
  /** Name of the cell to which the database belongs; null if there is only this installation. */
  readonly cell: string | null;
  /** Acquirers that are being moved, or that another cell serves: at most 20, the latest first. */
  readonly moved: readonly MovedAcquirer[];
}

interface MovedAcquirer {
  readonly acquirerId: number;
  /** State of this cell (table acquirer_cells). */
  readonly state: string;
  /** The other cell. */
  readonly peer: string;
}

/** One moment of the whole installation, before it is reduced to what a viewer may see. */
export interface Moment extends Omit<Frame, 'backlog'> {
  /** Taps per acquirer, as its own switches decided them. */
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
 * The frame for a viewer: everything, or for users of an acquirer only its switches, outcomes and problems, without
 * the installation.
 */
export function frameOf(moment: Moment, acquirerId: number | undefined, backlog: ConsoleBacklog | null): Frame {
  const { tapsOfAcquirers: _, ...whole } = moment;
  if (acquirerId === undefined) return { ...whole, backlog };
  return {
    atMs: moment.atMs,
    taps: tapsOf(moment, acquirerId),
    outcomes: moment.outcomes.filter(({ processor }) => acquirerOf(processor) === acquirerId),
    switches: moment.switches.filter(({ name }) => acquirerOf(name) === acquirerId),
    commits: null,
    processes: [],
    backlog,
  };
}

/** Rates of the whole installation, or of one acquirer. */
export function tapsOf(
  { taps, tapsOfAcquirers }: Pick<Moment, 'taps' | 'tapsOfAcquirers'>,
  acquirerId?: number,
): TapRates {
  return acquirerId === undefined ? taps : (tapsOfAcquirers.get(acquirerId) ?? NO_TAPS);
}

/**
 * Names of switches begin with the acquirer: `1 3`. Without a switch the name is empty and the result is 0, which
 * is no acquirer.
 */
export function acquirerOf(name: string): number {
  return Number(name.split(' ', 1)[0]);
}
