import type { LoadResult } from '#schemas/load-result';
import { bad, good } from '../style.ts';
import { tableOf } from '../table.ts';

/** Describes the result of a load test for a person. */
export function describeResult(result: LoadResult): string {
  const { generator, ledger, steps } = result;
  const parts = [
    scenarioTable(result),
    countsOf(result),
    ...(steps.length > 0 ? [stepTable(steps)] : []),
    [ledgerLine(ledger), ...ledger.violations].join('\n'),
    ...(ledger.checks.length > 0 ? [checkTable(ledger.checks)] : []),
    ...(generator.isLimit ? [`The generator may have been the limit: ${generator.description.join('; ')}.`] : []),
  ];
  return `\n${parts.join('\n\n')}`;
}

function scenarioTable({ scenarios, answered, p50Ms, p90Ms, p99Ms, p999Ms, maxMs, outcomes }: LoadResult): string {
  const rows = Object.entries(scenarios).map(([name, each]) => [
    name,
    String(each.answered),
    ...latenciesIn(each),
    words(each.outcomes),
  ]);
  const all = latenciesIn({ p50Ms, p90Ms, p99Ms, p999Ms, maxMs });
  return tableOf([
    ['scenario', 'answered', 'p50', 'p90', 'p99', 'p99.9', 'max', 'outcomes'],
    ...rows.sort(([one = ''], [other = '']) => (one < other ? -1 : 1)),
    ['all', String(answered), ...all, words(outcomes)],
  ]);
}

type Latencies = Pick<LoadResult, 'p50Ms' | 'p90Ms' | 'p99Ms' | 'p999Ms' | 'maxMs'>;

function latenciesIn({ p50Ms, p90Ms, p99Ms, p999Ms, maxMs }: Latencies): string[] {
  return [p50Ms, p90Ms, p99Ms, p999Ms, maxMs].map(inMs);
}

function countsOf(result: LoadResult): string {
  const { sent, answered, lost, perSecond, errors, unexpected, unsent, abandoned, reasons, endedBy } = result;
  const ended = { plan: '', signal: ' (stopped by hand)', broke: ' (the gateway failed)' }[endedBy];
  const why = Object.keys(reasons).length === 0 ? '' : `  (${words(reasons)})`;
  return [
    `sent ${sent}   answered ${answered}   lost ${lost}   ${perSecond} per second${ended}`,
    `errors ${errors}   unexpected ${unexpected}   not sent ${unsent}   abandoned ${abandoned}${why}`,
  ].join('\n');
}

function stepTable(steps: LoadResult['steps']): string {
  const rows = steps.map(({ perSecond, answeredPerSecond, p99Ms, broke }) => [
    perSecond.toFixed(0),
    answeredPerSecond.toFixed(0),
    inMs(p99Ms),
    broke ?? 'held',
  ]);
  return tableOf([['due/s', 'answered/s', 'p99', ''], ...rows]);
}

function ledgerLine({ ok, description }: LoadResult['ledger']): string {
  if (ok === null) return `ledger: ${description}`;
  return ok ? `ledger: ${good('ok')}, ${description}` : `ledger: ${bad('NOT OK')}, ${description}`;
}

function checkTable(checks: LoadResult['ledger']['checks']): string {
  const rows = checks.map(({ check, lookedAt, open, inReview, misstated, violations, description }) => [
    check,
    ...[lookedAt, open, inReview, misstated, violations].map(String),
    description,
  ]);
  return tableOf([['rule', 'checked', 'open', 'in review', 'misstated', 'violations', 'what must hold'], ...rows]);
}

function words(counts: Readonly<Record<string, number>>): string {
  const sorted = Object.entries(counts).sort(([, one], [, other]) => other - one);
  return sorted.map(([name, count]) => `${count} ${name}`).join(', ');
}

/** `0.42 ms`, `12.3 ms`, `1.20 s`, or a dash for null. */
export function inMs(ms: number | null | undefined): string {
  if (ms === null || ms === undefined) return '-';
  if (ms >= 1_000) return `${(ms / 1_000).toFixed(2)} s`;
  return `${ms.toFixed(ms < 10 ? 2 : ms < 100 ? 1 : 0)} ms`;
}
