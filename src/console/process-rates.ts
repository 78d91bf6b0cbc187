import type { ProcessFigures, SwitchFigures, Timings } from '../observe/figures.ts';
import type { OutcomeRate, SwitchRates } from './frame.ts';

/** The difference of two readings; after a restart of the process, only the new values. */
export function between(before: Timings | undefined, now: Timings): Timings {
  const counts = now.counts.map((count, at) => {
    const known = before?.counts[at] ?? 0;
    return count >= known ? count - known : count;
  });
  return { bounds: now.bounds, counts };
}

/** The sum of all histograms. Those with other bounds, from a process of another release, are omitted. */
export function sumOf(all: readonly Timings[]): Timings {
  const [first, ...others] = all;
  if (!first) return { bounds: [], counts: [] };
  const alike = others.filter(({ bounds }) => bounds.length === first.bounds.length);
  return {
    bounds: first.bounds,
    counts: first.counts.map((count, at) => alike.reduce((sum, { counts }) => sum + (counts[at] ?? 0), count)),
  };
}

export function countOf({ counts }: Timings): number {
  return counts.reduce((sum, count) => sum + count, 0);
}

/**
 * The percentile in milliseconds, interpolated linearly within its bucket; null without values. For a value beyond
 * the last bound, the last bound.
 */
export function percentileMs(timings: Timings, share: number): number | null {
  const { bounds, counts } = timings;
  const wanted = countOf(timings) * share;
  if (wanted === 0) return null;
  let below = 0;
  for (const [at, bound] of bounds.entries()) {
    const count = counts[at] ?? 0;
    if (below + count >= wanted) {
      const from = at === 0 ? 0 : bounds[at - 1]!;
      const within = from + ((bound - from) * (wanted - below)) / count;
      return Math.min(within, bound) * 1_000; // the sum may be rounded up
    }
    below += count;
  }
  return bounds.at(-1)! * 1_000;
}

/** One quiet second has too few taps for a percentile, so this many readings are combined. */
const READINGS = 5;

/** The recent rates of a process, computed from its last few readings. */
export class ProcessRates {
  #readings: ProcessFigures[];

  constructor(first: ProcessFigures) {
    this.#readings = [first];
  }

  get latest(): ProcessFigures {
    return this.#readings.at(-1)!;
  }

  /** A reading that was already added is ignored. */
  add(figures: ProcessFigures): void {
    if (figures.atMs === this.latest.atMs) return;
    const isAnotherStart = figures.startedAtMs !== this.latest.startedAtMs;
    this.#readings = isAnotherStart ? [figures] : [...this.#readings, figures].slice(-READINGS - 1);
  }

  /** The second-last reading: rates cover the last second. */
  get #before(): ProcessFigures {
    return this.#readings.at(-2) ?? this.latest;
  }

  perSecond(count: (figures: ProcessFigures) => number): number {
    const seconds = (this.latest.atMs - this.#before.atMs) / 1_000;
    return seconds > 0 ? Math.max(0, count(this.latest) - count(this.#before)) / seconds : 0;
  }

  /** The last few readings combined. */
  timings(of: (figures: ProcessFigures) => Timings | undefined): Timings {
    const now = of(this.latest);
    return now ? between(of(this.#readings[0]!), now) : sumOf([]);
  }

  get outcomes(): OutcomeRate[] {
    return this.latest.outcomes.map(({ count: total, ...named }) => ({
      ...named,
      total,
      perSecond: this.perSecond((figures) => outcomeCount(figures, named)),
    }));
  }

  /** The last few readings by switch. */
  get roundTrips(): { readonly name: string; readonly timings: Timings }[] {
    return this.latest.switches.map(({ name }) => ({
      name,
      timings: this.timings((figures) => switchOf(figures, name)?.roundTrips),
    }));
  }

  switches(processId: string): SwitchRates[] {
    const roundTrips = this.roundTrips;
    return this.latest.switches.map(({ roundTrips: _, ...rest }, at) => {
      const { timings } = roundTrips[at]!;
      return {
        ...rest,
        processId,
        responsesPerSecond: this.perSecond((figures) => switchOf(figures, rest.name)?.responded ?? 0),
        p50: percentileMs(timings, 0.5),
        p99: percentileMs(timings, 0.99),
      };
    });
  }
}

function switchOf({ switches }: ProcessFigures, wanted: string): SwitchFigures | undefined {
  return switches.find(({ name }) => name === wanted);
}

function outcomeCount({ outcomes }: ProcessFigures, named: Omit<OutcomeRate, 'total' | 'perSecond'>): number {
  const { processor, scheme, disposition } = named;
  const isSame = (each: (typeof outcomes)[number]) =>
    each.processor === processor && each.scheme === scheme && each.disposition === disposition;
  return outcomes.find(isSame)?.count ?? 0;
}
