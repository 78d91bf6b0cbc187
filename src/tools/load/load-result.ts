import { availableParallelism, cpus } from 'node:os';
import type { LoadResult, LoadScenarioResult } from '#schemas/load';
import type { LoadPlan, LoadRecord } from './load-run.ts';
import type { MachineSample } from './machine-watch.ts';
import { Histogram, latenciesOf, outcomesOf, type ScenarioSlice } from './tally.ts';

/**
 * Timers and the gateway's responses take a few milliseconds; if calls are sent later than this, the figures are
 * distorted.
 */
const MAX_LAG_P99_MS = 20;
/** Above this an event loop forms queues of its own (M/D/1: at 90 % a call waits for five others). */
const MAX_BUSY = 0.9;
/** One call in a thousand. */
const MAX_MISSED_SHARE = 0.001;
/** Share of the machine. What other programs use is not available to the gateway and the generator. */
const MAX_OTHERS_SHARE = 0.25;

/** Whether the figures describe the gateway, or a generator that could not keep up. */
export function judgeGenerator(
  { total, seconds, sendingSeconds }: LoadRecord,
  workers: number,
  samples: readonly MachineSample[],
): LoadResult['generator'] {
  const lags = new Histogram();
  lags.add(total.lags);
  const lagP99Ms = lags.percentileMs(0.99);
  const sending = seconds.slice(0, Math.floor(sendingSeconds)).map(({ busy }) => busy);
  const busy = median(sending);
  const missed = total.reasons['too many wait for a connection'] ?? 0;
  const mostWaiting = Math.max(0, ...seconds.map(({ waiting }) => waiting));
  const others = othersOf(samples);
  const description = [
    others > cpus().length * MAX_OTHERS_SHARE &&
      `other programs took ${others.toFixed(1)} of the ${cpus().length} cores of this machine`,
    lagP99Ms !== undefined && lagP99Ms > MAX_LAG_P99_MS && `calls were sent up to ${lagP99Ms.toFixed(0)} ms late (p99)`,
    busy > MAX_BUSY && `its workers were busy ${(busy * 100).toFixed(0)} % of the time: try more of them (--workers)`,
    missed > total.due * MAX_MISSED_SHARE && `${missed} calls found no connection and were given up`,
    mostWaiting > 0 && `up to ${mostWaiting} calls waited for a connection: there were no more (--most-connections)`,
  ].filter((why) => typeof why === 'string');
  return { isLimit: description.length > 0, description, lagP99Ms: lagP99Ms ?? null, busy, workers };
}

/** Cores used by neither the gateway, as far as it runs here, nor the generator; 0 if processes are not visible. */
function othersOf(samples: readonly MachineSample[]): number {
  return median(
    samples.map(({ machineCores, processes }) => {
      const known = Object.values(processes);
      return known.length === 0 ? 0 : machineCores - known.reduce((sum, { cores }) => sum + cores, 0);
    }),
  );
}

function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[values.length >> 1] ?? 0;
}

/** The parts of a result besides the counts. */
interface ResultParts {
  readonly plan: LoadPlan;
  /** The arrivals as given on the command line. */
  readonly arrivals: string;
  readonly perSecond: number;
  readonly ledger: LoadResult['ledger'];
  readonly steps: readonly StepResult[];
  readonly endedBy: LoadResult['endedBy'];
  readonly samples: readonly MachineSample[];
}

/** The figures of a test. */
export function resultOf(record: LoadRecord, parts: ResultParts): LoadResult {
  const { total, seconds, sendingSeconds, startedAtMs } = record;
  const { plan, ledger, steps, endedBy } = parts;
  const scenarios = Object.values(total.scenarios);
  const sum = (key: 'unexpected' | 'errors') => scenarios.reduce((all, scenario) => all + scenario[key], 0);
  const inTime = seconds.slice(0, Math.ceil(sendingSeconds)).reduce((all, { responded }) => all + responded, 0);
  const { sent, responded, lost, unsent, abandoned, requests, reasons } = total;
  return {
    sent,
    responded,
    lost,
    perSecond: rounded(inTime / sendingSeconds, 1),
    ...percentilesOf(latenciesOf(total)),
    outcomes: outcomesOf(total),
    ledger,
    errors: sum('errors'),
    unexpected: sum('unexpected'),
    unsent,
    abandoned,
    requests,
    reasons,
    scenarios: Object.fromEntries(
      Object.entries(total.scenarios).map(([name, slice]) => [name, scenarioResult(slice)]),
    ),
    generator: judgeGenerator(record, plan.workers, parts.samples),
    steps: [...steps],
    plan: planOf(parts),
    startedAt: new Date(startedAtMs).toISOString(),
    sendingSeconds: rounded(sendingSeconds, 3),
    endedBy,
    machine: `${availableParallelism()} cores, ${cpus()[0]?.model ?? 'unknown'}, Node ${process.version}`,
  };
}

export function percentilesOf(latencies: Histogram) {
  const at = (share: number) => rounded(latencies.percentileMs(share), 2);
  const maxMs = latencies.count === 0 ? null : rounded(latencies.maxMs, 2);
  return { p50Ms: at(0.5), p90Ms: at(0.9), p99Ms: at(0.99), p999Ms: at(0.999), maxMs };
}

function scenarioResult({ latencies, outcomes, unexpected, errors }: ScenarioSlice): LoadScenarioResult {
  const histogram = new Histogram();
  histogram.add(latencies);
  return { responded: histogram.count, ...percentilesOf(histogram), outcomes, unexpected, errors };
}

function planOf({ plan, arrivals, perSecond }: ResultParts): LoadResult['plan'] {
  const { url, seconds, mix, seed, connections, phones } = plan;
  const { kept, isNewEach } = connections;
  const target = new URL(url).host;
  return { target, arrivals, perSecond, durationSeconds: seconds, mix, seed, connections: kept, isNewEach, phones };
}

function rounded(value: number, digits: number): number;
function rounded(value: number | undefined, digits: number): number | null;
function rounded(value: number | undefined, digits: number): number | null {
  return value === undefined ? null : Math.round(value * 10 ** digits) / 10 ** digits;
}

/** The result of one step. */
export interface StepResult {
  /** Due arrivals. */
  readonly perSecond: number;
  readonly responsesPerSecond: number;
  readonly p99Ms: number | null;
  /** Why the step counts as broken; null if it does not. */
  readonly broke: string | null;
}

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
