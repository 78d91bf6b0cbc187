import type { LoadResult } from '#schemas/load-result';

/** One figure of two tests side by side. */
export interface ComparedFigure {
  readonly name: string;
  readonly before: number | null;
  readonly after: number | null;
  readonly unit: '' | 'ms' | '%' | '/s';
  /** The share of the first test's value; undefined if that value is zero. */
  readonly change: number | undefined;
  readonly verdict: 'same' | 'better' | 'worse';
}

interface Figure {
  readonly name: string;
  readonly unit: ComparedFigure['unit'];
  readonly isMoreBetter: boolean;
  /** Differences up to here are not significant, regardless of their share. */
  readonly noise: number;
  readonly read: (result: LoadResult) => number | null;
}

/** Timers and schedulers alone cause this much. */
const LATENCY_NOISE_MS = 1;
/** Difference of shares that is noise, as a percentage of all calls: one in ten thousand. */
const SHARE_NOISE = 0.01;

const latency = (name: string, key: 'p50Ms' | 'p90Ms' | 'p99Ms' | 'p999Ms'): Figure => ({
  name,
  unit: 'ms',
  isMoreBetter: false,
  noise: LATENCY_NOISE_MS,
  read: (result) => result[key],
});

const share = (name: 'errors' | 'lost' | 'unexpected' | 'unsent'): Figure => ({
  name,
  unit: '%',
  isMoreBetter: false,
  noise: SHARE_NOISE,
  read: (result) => (result.sent + result.unsent === 0 ? null : (100 * result[name]) / (result.sent + result.unsent)),
});

const FIGURES: readonly Figure[] = [
  { name: 'per second', unit: '/s', isMoreBetter: true, noise: 0, read: ({ perSecond }) => perSecond },
  latency('p50', 'p50Ms'),
  latency('p90', 'p90Ms'),
  latency('p99', 'p99Ms'),
  latency('p99.9', 'p999Ms'),
  share('errors'),
  share('lost'),
  share('unsent'),
  share('unexpected'),
];

/** Properties that must be equal for two tests to be comparable. */
const SAME_PLAN = ['arrivals', 'perSecond', 'mix', 'connections', 'isNewEach'] as const;

/**
 * Compares two tests figure by figure.
 *
 * @param tolerance the share by which a figure may be worse and still counts as the same: 0.1
 */
export function compareResults(before: LoadResult, after: LoadResult, tolerance: number): ComparedFigure[] {
  return FIGURES.map(({ name, unit, isMoreBetter, noise, read }) => {
    const [one, other] = [read(before), read(after)];
    const figure = { name, unit, before: one, after: other };
    if (one === null || other === null) {
      // A figure that exists only in the first test means that responses stopped.
      const verdict = one === other ? 'same' : other === null ? 'worse' : 'better';
      return { ...figure, change: undefined, verdict };
    }
    const loss = isMoreBetter ? one - other : other - one;
    const isNoise = Math.abs(loss) <= noise || Math.abs(loss) <= tolerance * one;
    const verdict = isNoise ? 'same' : loss > 0 ? 'worse' : 'better';
    return { ...figure, change: one === 0 ? undefined : (other - one) / one, verdict };
  });
}

/** The properties of the plan in which two tests differ: figures of different tests are hardly comparable. */
export function planDifferences({ plan: before }: LoadResult, { plan: after }: LoadResult): string[] {
  return SAME_PLAN.filter((key) => JSON.stringify(before[key]) !== JSON.stringify(after[key])).map(
    (key) => `${key}: ${JSON.stringify(before[key])} and ${JSON.stringify(after[key])}`,
  );
}
