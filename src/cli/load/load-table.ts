import type { LoadResult } from '#schemas/load';
import type { LoadPlan } from '../../tools/load/load-run.ts';
import { latenciesOf, type Slice, Tally } from '../../tools/load/tally.ts';
import { bad, cutTo, good, type Output, tableOf } from '../output.ts';

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

function scenarioTable({ scenarios, responded, p50Ms, p90Ms, p99Ms, p999Ms, maxMs, outcomes }: LoadResult): string {
  const rows = Object.entries(scenarios).map(([name, each]) => [
    name,
    String(each.responded),
    ...latenciesIn(each),
    words(each.outcomes),
  ]);
  const all = latenciesIn({ p50Ms, p90Ms, p99Ms, p999Ms, maxMs });
  return tableOf([
    ['scenario', 'responses', 'p50', 'p90', 'p99', 'p99.9', 'max', 'outcomes'],
    ...rows.sort(([one = ''], [other = '']) => (one < other ? -1 : 1)),
    ['all', String(responded), ...all, words(outcomes)],
  ]);
}

type Latencies = Pick<LoadResult, 'p50Ms' | 'p90Ms' | 'p99Ms' | 'p999Ms' | 'maxMs'>;

function latenciesIn({ p50Ms, p90Ms, p99Ms, p999Ms, maxMs }: Latencies): string[] {
  return [p50Ms, p90Ms, p99Ms, p999Ms, maxMs].map(inMs);
}

function countsOf(result: LoadResult): string {
  const { sent, responded, lost, perSecond, errors, unexpected, unsent, abandoned, reasons, endedBy } = result;
  const ended = { plan: '', signal: ' (stopped by hand)', broke: ' (the gateway failed)' }[endedBy];
  const why = Object.keys(reasons).length === 0 ? '' : `  (${words(reasons)})`;
  return [
    `sent ${sent}   responded ${responded}   lost ${lost}   ${perSecond} per second${ended}`,
    `errors ${errors}   unexpected ${unexpected}   not sent ${unsent}   abandoned ${abandoned}${why}`,
  ].join('\n');
}

function stepTable(steps: LoadResult['steps']): string {
  const rows = steps.map(({ perSecond, responsesPerSecond, p99Ms, broke }) => [
    perSecond.toFixed(0),
    responsesPerSecond.toFixed(0),
    inMs(p99Ms),
    broke ?? 'held',
  ]);
  return tableOf([['due/s', 'responses/s', 'p99', ''], ...rows]);
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
function inMs(ms: number | null | undefined): string {
  if (ms === null || ms === undefined) return '-';
  if (ms >= 1_000) return `${(ms / 1_000).toFixed(2)} s`;
  return `${ms.toFixed(ms < 10 ? 2 : ms < 100 ? 1 : 0)} ms`;
}

/** In a file or a pipe: frequent enough to follow, rare enough to read. */
const EVERY_SECONDS_IN_A_FILE = 5;

/**
 * Progress of a load test: on a terminal one line that is rewritten each second, elsewhere a new line every few
 * seconds.
 */
export class LoadProgress {
  readonly #output: Output;
  readonly #plan: Pick<LoadPlan, 'seconds'>;
  #hasLine = false;
  /** Counts that no line has shown yet. */
  readonly #tally = new Tally();
  #tallied = 0;

  constructor(output: Output, plan: Pick<LoadPlan, 'seconds'>) {
    this.#output = output;
    this.#plan = plan;
  }

  show(second: number, slice: Slice, total: Slice): void {
    this.#tally.add({ ...slice, inFlight: 0, waiting: 0, connections: 0 });
    this.#tallied++;
    const { isTTY } = this.#output;
    if (!isTTY && (second + 1) % EVERY_SECONDS_IN_A_FILE !== 0) return;
    const { inFlight, waiting } = slice;
    const line = progressLine(
      { second, seconds: this.#tallied, slice: this.#tally.take({ inFlight, waiting }), total },
      this.#plan,
    );
    this.#tallied = 0;
    // Returns to the start of the line and erases it (ECMA-48: CR, EL).
    if (isTTY) this.#output.write(`\r\u001b[2K${cutTo(this.#output, line)}`);
    else this.#output.write(`${line}\n`);
    this.#hasLine = isTTY === true;
  }

  /** Leaves the last line in place. */
  stop(): void {
    if (this.#hasLine) this.#output.write('\n');
    this.#hasLine = false;
  }
}

interface Seen {
  /** The last second of the period that the line covers. */
  readonly second: number;
  /** Length of the period. */
  readonly seconds: number;
  readonly slice: Slice;
  readonly total: Slice;
}

/** `  12/60 s  2000 due/s  1998 responses/s  p50 3.10 ms  p99 12.0 ms  0 errors  7 in flight` */
export function progressLine({ second, seconds, slice, total }: Seen, plan: Pick<LoadPlan, 'seconds'>): string {
  const latencies = latenciesOf(slice);
  const errors = Object.values(total.scenarios).reduce((sum, scenario) => sum + scenario.errors, 0);
  const isSending = second < plan.seconds;
  return [
    `${String(second + 1).padStart(4)}/${Math.ceil(plan.seconds)} s`,
    isSending ? `${Math.round(slice.due / seconds)} due/s` : 'waiting for responses',
    `${Math.round(slice.responded / seconds)} responses/s`,
    `p50 ${inMs(latencies.percentileMs(0.5))}`,
    `p99 ${inMs(latencies.percentileMs(0.99))}`,
    `${errors + total.lost + total.unsent} errors`,
    `${slice.inFlight + slice.waiting} in flight`,
  ].join('  ');
}
