import { randomUUID } from 'node:crypto';
import { StoreUnavailable } from '../basics/errors.ts';
import { type Repetition, repeatEvery } from '../basics/limits/waits.ts';
import type { ProcessCommand, ProcessFigures, Timings } from '../observe/figures.ts';
import type { Health } from '../observe/health.ts';
import type { ChangedLevel } from '../observe/log.ts';
import type { Database } from '../store/postgres/open-database.ts';
import type { ConsoleSwitches } from './read-figures.ts';
import {
  addFigures,
  type CountedSwitch,
  type Counts,
  forgetFigures,
  RESTING_SECONDS,
  reportFigures,
} from './store/stored-figures.ts';

/** The shortest span has a minute, so what is counted belongs to it with an error of ten seconds. */
const RECORD_EVERY_MS = 20_000;
const HALF_SECONDS = RECORD_EVERY_MS / 2_000;
/** Name of the last bucket, as in Prometheus. */
export const BEYOND = '+Inf';

export interface RecorderParts {
  readonly database: Database;
  readonly read: () => Promise<ProcessFigures>;
  readonly onError: (error: unknown) => void;
}

/**
 * Stores what this process counted for each switch since it last did. If it is unknown whether that was stored, it is not
 * stored again: these are figures for people, and a gap of seconds misleads less than a peak that never was.
 */
export class FiguresRecorder {
  readonly #parts: RecorderParts;
  readonly #recording: Repetition;
  #before: ProcessFigures | undefined;

  constructor(parts: RecorderParts) {
    this.#parts = parts;
    this.#recording = repeatEvery(RECORD_EVERY_MS, () => this.record(), parts.onError);
  }

  /** Stores the rest. */
  async stop(): Promise<void> {
    await this.#recording.stop();
    await this.record().catch(this.#parts.onError);
  }

  async record(): Promise<void> {
    const { database, read } = this.#parts;
    const now = await read();
    const counted = countedBetween(this.#before, now);
    try {
      if (counted.length > 0) await addFigures(database, counted, HALF_SECONDS);
    } catch (error) {
      if (error instanceof StoreUnavailable && error.mayBeStored) this.#before = now;
      throw error;
    }
    this.#before = now;
  }
}

interface Sums {
  readonly outcomes: Record<string, number>;
  readonly declines: Record<string, number>;
  readonly roundTrips: Record<string, number>;
}

/** @returns one entry for each switch that did something between the readings */
export function countedBetween(before: ProcessFigures | undefined, now: ProcessFigures): CountedSwitch[] {
  const sums = new Map<string, Sums>();
  const add = (figures: ProcessFigures, sign: 1 | -1) => {
    const of = (name: string) => {
      const known = sums.get(name) ?? { outcomes: {}, declines: {}, roundTrips: {} };
      sums.set(name, known);
      return known;
    };
    for (const { processor, disposition, count } of figures.outcomes)
      increase(of(processor).outcomes, disposition, sign * count);
    for (const { processor, code, count } of figures.declines) increase(of(processor).declines, code, sign * count);
    for (const { name, roundTrips } of figures.switches)
      for (const [bound, count] of buckets(roundTrips)) increase(of(name).roundTrips, bound, sign * count);
  };
  add(now, 1);
  if (before) add(before, -1);
  return [...sums].flatMap(([name, { outcomes, declines, roundTrips }]) => {
    const [acquirerId, processorId] = name.split(' ').map(Number);
    if (!acquirerId || !processorId) return []; // no switch was involved
    const counts = { outcomes: positive(outcomes), declines: positive(declines), roundTrips: positive(roundTrips) };
    const isIdle = Object.values(counts).every((each) => Object.keys(each).length === 0);
    return isIdle ? [] : [{ acquirerId, processorId, ...counts }];
  });
}

function increase(counts: Record<string, number>, key: string, by: number): void {
  counts[key] = (counts[key] ?? 0) + by;
}

function buckets({ bounds, counts }: Timings): [string, number][] {
  return counts.map((count, at) => [bounds[at] === undefined ? BEYOND : String(bounds[at]), count]);
}

/** Without the counters that did not change. Those of a switch that was opened again begin at zero. */
function positive(counts: Counts): Counts {
  return Object.fromEntries(Object.entries(counts).filter(([, count]) => count > 0));
}

const REPORT_EVERY_MS = 1_000;

export interface ReporterParts {
  readonly database: Database;
  readonly read: () => Promise<ProcessFigures>;
  readonly health: Health;
  readonly switches: ConsoleSwitches | undefined;
  readonly logLevel: ChangedLevel;
}

/**
 * Publishes the figures of this process to consoles, once a second while one is open, and executes their commands.
 * Without the database it is silent; readiness already reports that fault.
 */
export class ProcessReporter {
  /** The name of this process in consoles. */
  readonly id = randomUUID();
  readonly #parts: ReporterParts;
  readonly #reporting: Repetition;
  #isWatched = false;
  #reportedAtMs = Number.NEGATIVE_INFINITY;

  constructor(parts: ReporterParts) {
    this.#parts = parts;
    this.#reporting = repeatEvery(REPORT_EVERY_MS, () => this.#report());
  }

  async stop(): Promise<void> {
    await this.#reporting.stop();
    this.#parts.logLevel.end();
    await forgetFigures(this.#parts.database, this.id).catch(() => {});
  }

  async #report(): Promise<void> {
    const { database, read } = this.#parts;
    const nowMs = performance.now();
    if (!this.#isWatched && nowMs - this.#reportedAtMs < RESTING_SECONDS * 1_000) return;
    this.#reportedAtMs = nowMs;
    const { commands, isWatched } = await reportFigures<ProcessCommand>(database, this.id, await read());
    this.#isWatched = isWatched;
    for (const command of commands) this.#obey(command);
  }

  #obey(command: ProcessCommand): void {
    const { health, switches, logLevel } = this.#parts;
    if (command.do === 'log') logLevel.change(command.level, command.minutes);
    else if ('line' in command) {
      const found = [...(switches ?? [])].find(([name]) => name === command.name)?.[1];
      if (command.do === 'signOff') found?.lines.signOff(command.line);
      else found?.lines.signOn(command.line);
    } else if (command.do === 'drain') health.drain();
    else health.resume();
  }
}
