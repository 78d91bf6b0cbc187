import { availableParallelism, cpus } from 'node:os';
import type { LoadResult, LoadScenarioResult } from '#schemas/load-result';
import { Histogram } from './histogram.ts';
import { judgeGenerator } from './judge-generator.ts';
import type { LoadPlan, LoadRecord } from './load-run.ts';
import type { MachineSample } from './machine-watch.ts';
import type { ScenarioSlice } from './slice.ts';
import { latenciesOf, outcomesOf } from './tally.ts';

/** The parts of a result besides the counts. */
export interface ResultParts {
  readonly plan: LoadPlan;
  /** As given on the command line. */
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
  const inTime = seconds.slice(0, Math.ceil(sendingSeconds)).reduce((all, { answered }) => all + answered, 0);
  const { sent, answered, lost, unsent, abandoned, requests, reasons } = total;
  return {
    sent,
    answered,
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
  return { answered: histogram.count, ...percentilesOf(histogram), outcomes, unexpected, errors };
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
  readonly answeredPerSecond: number;
  readonly p99Ms: number | null;
  /** Why the step counts as broken; null if it does not. */
  readonly broke: string | null;
}
