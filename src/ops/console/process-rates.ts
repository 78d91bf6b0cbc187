import type { ProcessFigures, Timings } from './figures.ts';
import type { OutcomeRate, SwitchRates } from './frame.ts';
import { between, countOf, percentileMs, sumOf } from './timings.ts';

/** A second of quiet traffic has too few taps for a percentile: so many readings together make one. */
const READINGS = 5;

/** What a process did lately, from its last few readings. */
export class ProcessRates {
  #readings: ProcessFigures[];

  constructor(first: ProcessFigures) {
    this.#readings = [first];
  }

  get latest(): ProcessFigures {
    return this.#readings.at(-1)!;
  }

  /** A reading that was seen before changes nothing. */
  add(figures: ProcessFigures): void {
    if (figures.atMs === this.latest.atMs) return;
    const isAnotherStart = figures.startedAtMs !== this.latest.startedAtMs;
    this.#readings = isAnotherStart ? [figures] : [...this.#readings, figures].slice(-READINGS - 1);
  }

  /** The last reading but one: rates are those of the last second. */
  get #before(): ProcessFigures {
    return this.#readings.at(-2) ?? this.latest;
  }

  perSecond(count: (figures: ProcessFigures) => number): number {
    const seconds = (this.latest.atMs - this.#before.atMs) / 1_000;
    return seconds > 0 ? Math.max(0, count(this.latest) - count(this.#before)) / seconds : 0;
  }

  /** Of the last few readings together. */
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

  switches(processId: string): SwitchRates[] {
    return this.latest.switches.map(({ roundTrips: _, ...rest }) => {
      const own = (figures: ProcessFigures) => figures.switches.find(({ name }) => name === rest.name);
      const roundTrips = this.timings((figures) => own(figures)?.roundTrips);
      return {
        ...rest,
        processId,
        answeredPerSecond: this.perSecond((figures) => own(figures)?.answered ?? 0),
        p50: countOf(roundTrips) === 0 ? null : percentileMs(roundTrips, 0.5),
        p99: countOf(roundTrips) === 0 ? null : percentileMs(roundTrips, 0.99),
      };
    });
  }
}

function outcomeCount({ outcomes }: ProcessFigures, named: Omit<OutcomeRate, 'total' | 'perSecond'>): number {
  const { processor, scheme, disposition } = named;
  const isSame = (each: (typeof outcomes)[number]) =>
    each.processor === processor && each.scheme === scheme && each.disposition === disposition;
  return outcomes.find(isSame)?.count ?? 0;
}
