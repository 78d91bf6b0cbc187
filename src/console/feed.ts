import { type Repetition, repeatEvery } from '../basics/limits/repeat-every.ts';
import type { ProcessFigures } from '../observe/figures.ts';
import type { Database } from '../store/postgres/open-database.ts';
import { frameOf, type Moment, tapsOf } from './frame.ts';
import { momentOf } from './moment.ts';
import { ProcessRates } from './process-rates.ts';
import type { ReadConsoleBacklog } from './read-backlog.ts';
import { readFigures } from './store/process-figures.ts';

/** One frame per second; a person does not read faster. */
const FRAME_EVERY_MS = 1_000;
/** A newly opened console shows the last quarter of an hour. */
const MOST_KEPT = 900;
/** Each console receives every frame; an installation has few operators. */
const MOST_CONSOLES = 100;
/** Reserved for users of the installation, who must see the figures during an incident. */
const KEPT_FOR_INSTALLATION = 20;
/** A person has one or two screens. The limit stops a script from taking the places of other users. */
const MOST_OF_A_USER = 5;

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
  /** Milliseconds since 1970: when the database last answered; null while it does. */
  readonly downSinceMs: number | null;
  readonly nowMs: number;
}

/** A read of the figures takes milliseconds. Without a result for this long, the database counts as unavailable. */
const SILENT_AFTER_MS = 5_000;

export interface FeedParts {
  readonly database: Database;
  /** Called only while a console is open. It limits its own database queries. */
  readonly readBacklog: ReadConsoleBacklog;
}

/** The figures of all processes, as one frame per second for every console at this process. */
export class ConsoleFeed {
  readonly #parts: FeedParts;
  readonly #processes = new Map<string, ProcessRates>();
  readonly #viewers = new Set<Viewer>();
  readonly #kept: Pick<Moment, 'atMs' | 'taps' | 'tapsOfAcquirers'>[] = [];
  readonly #framing: Repetition;
  #isClosed = false;
  /** The process has started, so the database has answered. */
  #answeredAtMs = Date.now();
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
    const most = viewer.acquirerId === undefined ? MOST_CONSOLES : MOST_CONSOLES - KEPT_FOR_INSTALLATION;
    const own = [...this.#viewers].filter(({ userId }) => userId === viewer.userId).length;
    if (this.#isClosed || this.#viewers.size >= most || own >= MOST_OF_A_USER) return undefined;
    this.#viewers.add(viewer);
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
    const isDown = this.#hasFailed || nowMs - this.#answeredAtMs > SILENT_AFTER_MS;
    return { database: isDown ? 'down' : 'up', downSinceMs: isDown ? this.#answeredAtMs : null, nowMs };
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    for (const viewer of this.#viewers) viewer.end();
    this.#viewers.clear();
    await this.#framing.stop();
  }

  async #frame(): Promise<void> {
    const reported = await readFigures<ProcessFigures>(this.#parts.database);
    this.#answeredAtMs = Date.now();
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
    if (this.#kept.length > MOST_KEPT) this.#kept.shift();
    const bySight = Map.groupBy(this.#viewers, ({ acquirerId }) => acquirerId);
    await Promise.all([...bySight].map(([acquirerId, viewers]) => this.#show(moment, acquirerId, viewers)));
  }

  async #show(moment: Moment, acquirerId: number | undefined, viewers: readonly Viewer[]): Promise<void> {
    const backlog = await this.#parts.readBacklog(acquirerId).catch(() => null);
    const frame = JSON.stringify(frameOf(moment, acquirerId, backlog));
    for (const viewer of viewers) viewer.show(frame);
  }
}
