import type { ProcessFigures, Timings } from '../observe/figures.ts';
import type { DispositionName } from '../payments/model/disposition.ts';
import { acquirerOf, type Frame, type Moment, type OutcomeRate, type TapRates } from './frame.ts';
import type { ProcessRates } from './process-rates.ts';
import { countOf, percentileMs, sumOf } from './timings.ts';

/** Combines the recent figures of all processes. @param processes by id */
export function momentOf(processes: ReadonlyMap<string, ProcessRates>): Moment {
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
