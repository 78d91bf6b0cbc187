import { readFigures } from '../../store/console/process-figures.ts';
import type { Database } from '../../store/postgres/open-database.ts';
import type { ProcessFigures, Timings } from './figures.ts';
import { type ConsoleBacklog, type Frame, frameOf, type OutcomeRate, type TapRates } from './frame.ts';
import { ProcessRates } from './process-rates.ts';
import { percentileMs, sumOf } from './timings.ts';

/** One frame a second: more is not read by anybody. */
const FRAME_EVERY_MS = 1_000;
/** What a console that is opened shows of the time before: a quarter of an hour. */
const MOST_KEPT = 900;
/** Each is sent every frame; an installation has a handful of operators. */
const MOST_CONSOLES = 50;

/** A console that is open. */
export interface Viewer {
  /** Whose switches and outcomes it shows; undefined for all. */
  readonly acquirerId: number | undefined;
  show(frame: Frame): void;
  /** The process stops. */
  end(): void;
}

/** A point of the charts. */
export type HistoryPoint = readonly [
  at: number,
  perSecond: number,
  p50: number | null,
  p95: number | null,
  p99: number | null,
];

export interface FeedParts {
  readonly database: Database;
  /** Asked while somebody looks, and not otherwise; spares the database itself. */
  readonly readBacklog: () => Promise<ConsoleBacklog>;
}

/** The figures of all processes, made one frame a second, for every console at this process. */
export class ConsoleFeed {
  readonly #parts: FeedParts;
  readonly #processes = new Map<string, ProcessRates>();
  readonly #viewers = new Set<Viewer>();
  readonly #kept: Frame[] = [];
  #timer: NodeJS.Timeout | undefined;
  #isClosed = false;

  constructor(parts: FeedParts) {
    this.#parts = parts;
    this.#frameLater();
  }

  /** @returns what ends it; undefined when so many look already that one more may not */
  watch(viewer: Viewer): (() => void) | undefined {
    if (this.#isClosed || this.#viewers.size >= MOST_CONSOLES) return undefined;
    this.#viewers.add(viewer);
    return () => void this.#viewers.delete(viewer);
  }

  /** The time before, for the charts. */
  history(acquirerId: number | undefined): HistoryPoint[] {
    return this.#kept.map((frame) => {
      const { at, taps } = frameOf(frame, acquirerId);
      return [at, taps.perSecond, taps.p50, taps.p95, taps.p99];
    });
  }

  close(): void {
    this.#isClosed = true;
    clearTimeout(this.#timer);
    for (const viewer of this.#viewers) viewer.end();
    this.#viewers.clear();
  }

  #frameLater(): void {
    this.#timer = setTimeout(() => {
      this.#frame()
        .catch(() => {}) // without the database there is no frame; the page says since when
        .finally(() => this.#isClosed || this.#frameLater());
    }, FRAME_EVERY_MS).unref();
  }

  async #frame(): Promise<void> {
    const reported = await readFigures<ProcessFigures>(this.#parts.database);
    const known = new Set(reported.map(({ id }) => id));
    for (const id of this.#processes.keys()) if (!known.has(id)) this.#processes.delete(id);
    for (const { id, figures } of reported) {
      const rates = this.#processes.get(id);
      if (rates) rates.add(figures);
      else this.#processes.set(id, new ProcessRates(figures));
    }
    const backlog = this.#viewers.size > 0 ? await this.#parts.readBacklog().catch(() => null) : null;
    const frame = this.#compose(backlog);
    this.#kept.push({ ...frame, backlog: null, processes: [] });
    if (this.#kept.length > MOST_KEPT) this.#kept.shift();
    for (const viewer of this.#viewers) viewer.show(frameOf(frame, viewer.acquirerId));
  }

  #compose(backlog: ConsoleBacklog | null): Frame {
    const all = [...this.#processes.values()];
    const together = (of: (figures: ProcessFigures) => Timings) => sumOf(all.map((rates) => rates.timings(of)));
    const perSecond = (of: (figures: ProcessFigures) => number) =>
      all.reduce((sum, rates) => sum + rates.perSecond(of), 0);
    const commits = together((figures) => figures.commits);
    return {
      at: Date.now(),
      taps: tapRates(
        together((figures) => figures.taps),
        perSecond,
      ),
      outcomes: outcomesOf(all),
      switches: [...this.#processes].flatMap(([id, rates]) => rates.switches(id)),
      commits: {
        perSecond: perSecond(({ commits }) => commits.counts.reduce((sum, count) => sum + count, 0)),
        p50: percentileMs(commits, 0.5),
        p99: percentileMs(commits, 0.99),
      },
      processes: [...this.#processes].map(([id, { latest }]) => processState(id, latest)),
      backlog,
    };
  }
}

function tapRates(taps: Timings, perSecond: (of: (figures: ProcessFigures) => number) => number): TapRates {
  return {
    perSecond: perSecond(({ taps }) => taps.counts.reduce((sum, count) => sum + count, 0)),
    failedPerSecond: perSecond(({ taps }) => taps.failed),
    p50: percentileMs(taps, 0.5),
    p95: percentileMs(taps, 0.95),
    p99: percentileMs(taps, 0.99),
  };
}

/** Of all processes, those that are alike together. */
function outcomesOf(all: readonly ProcessRates[]): OutcomeRate[] {
  const byName = Map.groupBy(
    all.flatMap((rates) => rates.outcomes),
    ({ processor, scheme, disposition }) => `${processor}|${scheme}|${disposition}`,
  );
  return [...byName.values()].map((alike) => ({
    ...alike[0]!,
    total: alike.reduce((sum, { total }) => sum + total, 0),
    perSecond: alike.reduce((sum, { perSecond }) => sum + perSecond, 0),
  }));
}

function processState(id: string, figures: ProcessFigures): Frame['processes'][number] {
  const { role, host, pid, startedAtMs, isDraining, busy, rssBytes, clients, messages } = figures;
  return { id, role, host, pid, startedAtMs, isDraining, busy, rssBytes, clients, messages };
}
