import { type Repetition, repeatEvery } from '../basics/limits/waits.ts';
import type { ProcessFigures, Timings } from '../observe/figures.ts';
import type { DispositionName } from '../payments/model/disposition.ts';
import type { Database } from '../store/postgres/open-database.ts';
import { acquirerOf, type Frame, frameOf, type Moment, type OutcomeRate, type TapRates, tapsOf } from './frame.ts';
import { countOf, ProcessRates, percentileMs, sumOf } from './process-rates.ts';
import type { ReadConsoleBacklog } from './read-backlog.ts';
import { RESTING_SECONDS, readReportedFigures } from './store/stored-figures.ts';

/** Combines the recent figures of all processes. @param processes by id */
function momentOf(processes: ReadonlyMap<string, ProcessRates>): Moment {
  const all = [...processes.values()];
  const together = (of: (figures: ProcessFigures) => Timings) => sumOf(all.map((rates) => rates.timings(of)));
  const perSecond = (of: (figures: ProcessFigures) => number) =>
    all.reduce((sum, rates) => sum + rates.perSecond(of), 0);
  const outcomes = outcomesOf(all);
  const commits = together((figures) => figures.commits);
  return {
    atMs: Date.now(),
    taps: {
      perSecond: perSecond(({ taps }) => countOf(taps)),
      undecidedPerSecond: undecidedOf(outcomes),
      failedPerSecond: perSecond(({ taps }) => taps.failed),
      ...percentilesOf(together((figures) => figures.taps)),
    },
    tapsOfAcquirers: tapsOfAcquirers(all, outcomes),
    outcomes,
    switches: [...processes].flatMap(([id, rates]) => rates.switches(id)),
    commits: {
      perSecond: perSecond(({ commits }) => countOf(commits)),
      p50: percentileMs(commits, 0.5),
      p99: percentileMs(commits, 0.99),
    },
    processes: [...processes].map(([id, { latest }]) => processState(id, latest)),
  };
}

/**
 * The taps of an acquirer are those that its switches decided, with the times of the switches; the rest is not its
 * own.
 */
function tapsOfAcquirers(
  all: readonly ProcessRates[],
  outcomes: readonly OutcomeRate[],
): ReadonlyMap<number, TapRates> {
  const roundTrips = Map.groupBy(
    all.flatMap((rates) => rates.roundTrips),
    ({ name }) => acquirerOf(name),
  );
  const decided = Map.groupBy(outcomes, ({ processor }) => acquirerOf(processor));
  const acquirers = new Set([...roundTrips.keys(), ...decided.keys()]);
  const ofOne = (acquirerId: number): TapRates => {
    const own = decided.get(acquirerId) ?? [];
    return {
      perSecond: rateOf(own.filter(({ disposition }) => disposition !== AFTERWARDS)),
      undecidedPerSecond: undecidedOf(own),
      failedPerSecond: null,
      ...percentilesOf(sumOf((roundTrips.get(acquirerId) ?? []).map(({ timings }) => timings))),
    };
  };
  return new Map([...acquirers].map((acquirerId) => [acquirerId, ofOne(acquirerId)]));
}

/** The disposition of a tap that had another outcome before. */
const AFTERWARDS: DispositionName = 'Voided';
const UNDECIDED: readonly string[] = ['Indeterminate', 'UnableToGoOnline'] satisfies DispositionName[];

function undecidedOf(outcomes: readonly OutcomeRate[]): number {
  return rateOf(outcomes.filter(({ disposition }) => UNDECIDED.includes(disposition)));
}

function rateOf(outcomes: readonly OutcomeRate[]): number {
  return outcomes.reduce((sum, { perSecond }) => sum + perSecond, 0);
}

function percentilesOf(timings: Timings): Pick<TapRates, 'p50' | 'p95' | 'p99'> {
  return { p50: percentileMs(timings, 0.5), p95: percentileMs(timings, 0.95), p99: percentileMs(timings, 0.99) };
}

/** Outcomes of all processes; equal ones are added up. */
function outcomesOf(all: readonly ProcessRates[]): OutcomeRate[] {
  const byName = Map.groupBy(
    all.flatMap((rates) => rates.outcomes),
    ({ processor, scheme, disposition }) => `${processor}|${scheme}|${disposition}`,
  );
  return [...byName.values()].map((alike) => ({
    ...alike[0]!,
    total: alike.reduce((sum, { total }) => sum + total, 0),
    perSecond: rateOf(alike),
  }));
}

function processState(id: string, figures: ProcessFigures): Frame['processes'][number] {
  const { role, host, pid, startedAtMs, isDraining, busy, rssBytes, clients, messages } = figures;
  return { id, role, host, pid, startedAtMs, isDraining, busy, rssBytes, clients, messages };
}

/** One frame per second; a person does not read faster. */
const FRAME_EVERY_MS = 1_000;
/** A newly opened console shows the last quarter of an hour: a point for each second in which one was open. */
const KEPT_MS = 900_000;
/** Each console receives every frame; an installation has few operators. */
const MAX_CONSOLES = 100;
/** Reserved for users of the installation, who must see the figures during an incident. */
const KEPT_FOR_INSTALLATION = 20;
/** A person has one or two screens. The limit stops a script from taking the places of other users. */
const MAX_OF_A_USER = 5;

/** An open console. */
export interface Viewer {
  /** The acquirer whose switches and outcomes it shows; undefined for all. */
  readonly acquirerId: number | undefined;
  readonly userId: string;
  /** @param frame JSON text, identical for all viewers with the same rights */
  show(frame: string): void;
  /** The process stops. */
  end(): void;
}

/** A point of the charts. */
export type HistoryPoint = readonly [
  atMs: number,
  perSecond: number,
  p50: number | null,
  p95: number | null,
  p99: number | null,
];

/** Whether the figures of the console can be read, for a page that cannot show them. */
export interface Availability {
  readonly database: 'up' | 'down';
  /** Milliseconds since 1970: when the database last responded; null while it does. */
  readonly downSinceMs: number | null;
  readonly nowMs: number;
}

/**
 * A read of the figures takes milliseconds. Without a result for this long after its time, the database counts as
 * unavailable.
 */
const SILENT_AFTER_MS = 5_000;

export interface FeedParts {
  readonly database: Database;
  /** Called only while a console is open. It limits its own database queries. */
  readonly readBacklog: ReadConsoleBacklog;
}

/** The figures of all processes, as one frame per second for every console at this process; seldom while none is open. */
export class ConsoleFeed {
  readonly #parts: FeedParts;
  readonly #processes = new Map<string, ProcessRates>();
  readonly #viewers = new Set<Viewer>();
  readonly #kept: Pick<Moment, 'atMs' | 'taps' | 'tapsOfAcquirers'>[] = [];
  readonly #framing: Repetition;
  #isClosed = false;
  /** The process has started, so the database has responded. */
  #respondedAtMs = Date.now();
  #hasFailed = false;

  constructor(parts: FeedParts) {
    this.#parts = parts;
    // Without the database no frame is sent; the page shows since when.
    this.#framing = repeatEvery(
      FRAME_EVERY_MS,
      () => this.#frame(),
      () => {
        this.#hasFailed = true;
      },
    );
  }

  /** @returns a function that ends the feed; undefined when the limit of viewers is reached */
  watch(viewer: Viewer): (() => void) | undefined {
    const most = viewer.acquirerId === undefined ? MAX_CONSOLES : MAX_CONSOLES - KEPT_FOR_INSTALLATION;
    const own = [...this.#viewers].filter(({ userId }) => userId === viewer.userId).length;
    if (this.#isClosed || this.#viewers.size >= most || own >= MAX_OF_A_USER) return undefined;
    this.#viewers.add(viewer);
    this.#framing.runSoon();
    return () => void this.#viewers.delete(viewer);
  }

  /** The previous points, for the charts. */
  history(acquirerId: number | undefined): HistoryPoint[] {
    return this.#kept.map((moment) => {
      const { perSecond, p50, p95, p99 } = tapsOf(moment, acquirerId);
      return [moment.atMs, perSecond, p50, p95, p99];
    });
  }

  /** Needs no database, and reveals nothing that a load balancer does not see. */
  availability(): Availability {
    const nowMs = Date.now();
    const isDown = this.#hasFailed || nowMs - this.#respondedAtMs > this.#pauseMs + SILENT_AFTER_MS;
    return { database: isDown ? 'down' : 'up', downSinceMs: isDown ? this.#respondedAtMs : null, nowMs };
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    for (const viewer of this.#viewers) viewer.end();
    this.#viewers.clear();
    await this.#framing.stop();
  }

  /** Between two reads. */
  get #pauseMs(): number {
    return this.#viewers.size > 0 ? 0 : RESTING_SECONDS * 1_000;
  }

  async #frame(): Promise<void> {
    if (Date.now() - this.#respondedAtMs < this.#pauseMs) return;
    const reported = await readReportedFigures<ProcessFigures>(this.#parts.database, this.#viewers.size > 0);
    this.#respondedAtMs = Date.now();
    this.#hasFailed = false;
    const known = new Set(reported.map(({ id }) => id));
    for (const id of this.#processes.keys()) if (!known.has(id)) this.#processes.delete(id);
    for (const { id, figures } of reported) {
      const rates = this.#processes.get(id);
      if (rates) rates.add(figures);
      else this.#processes.set(id, new ProcessRates(figures));
    }
    const moment = momentOf(this.#processes);
    this.#kept.push({ atMs: moment.atMs, taps: moment.taps, tapsOfAcquirers: moment.tapsOfAcquirers });
    while (this.#kept[0]!.atMs < moment.atMs - KEPT_MS) this.#kept.shift();
    const bySight = Map.groupBy(this.#viewers, ({ acquirerId }) => acquirerId);
    await Promise.all([...bySight].map(([acquirerId, viewers]) => this.#show(moment, acquirerId, viewers)));
  }

  async #show(moment: Moment, acquirerId: number | undefined, viewers: readonly Viewer[]): Promise<void> {
    const backlog = await this.#parts.readBacklog(acquirerId).catch(() => null);
    const frame = JSON.stringify(frameOf(moment, acquirerId, backlog));
    for (const viewer of viewers) viewer.show(frame);
  }
}
