import { readFileSync } from 'node:fs';
import { type LoadResult, loadResult } from '#schemas/load';
import { describeSystemError } from '../../basics/errors/system-error.ts';
import { LoadError, StartError } from '../../basics/errors.ts';
import { type ComparedFigure, compareResults, planDifferences } from '../../tools/load/load-result.ts';
import { readWords, text } from '../arguments.ts';
import { tableOf } from '../output.ts';

export const USAGE = `usage: tapwire load compare A.json B.json [--tolerance 10%]

Compares two results of tapwire load --json. Exit code 1 when B is worse than A in any figure by more than the
tolerance, or its ledger check failed.`;

const MAX_TOLERANCE = 10;

/** `tapwire load compare A.json B.json`: compares two results and reports a regression by the exit code 1. */
export async function run(args: string[]): Promise<number> {
  const { values, words } = readWords(args, { tolerance: { ...text, default: '10%' } });
  const [first, second, ...others] = words;
  if (first === undefined || second === undefined || others.length > 0) throw new StartError('BAD_USAGE', USAGE);
  const tolerance = parseTolerance(values.tolerance);
  const [before, after] = [readResult(first), readResult(second)];
  const figures = compareResults(before, after, tolerance);
  const differences = planDifferences(before, after);
  console.log(tableOf([['', first, second, 'change', ''], ...figures.map(rowOf)]));
  if (differences.length > 0)
    console.log(`\nThe results are from different tests:\n${differences.map((each) => `  ${each}`).join('\n')}`);
  if (after.ledger.ok === false) console.log(`\nledger of ${second}: NOT OK, ${after.ledger.description}`);
  return after.ledger.ok === false || figures.some(({ verdict }) => verdict === 'worse') ? 1 : 0;
}

function parseTolerance(text: string): number {
  const percent = /^(\d{1,3}(?:\.\d+)?)%$/.exec(text)?.[1];
  const tolerance = percent === undefined ? Number.NaN : Number(percent) / 100;
  if (tolerance <= MAX_TOLERANCE) return tolerance;
  throw new LoadError('BAD_OPTION', `--tolerance ${text}: expected a percentage, such as 10%`);
}

function readResult(path: string): LoadResult {
  let value: unknown;
  try {
    value = JSON.parse(readFileSync(path, 'utf8'));
  } catch (cause) {
    throw new LoadError('BAD_FILE', `${path}: ${describeSystemError(cause)}`, { cause });
  }
  const checked = loadResult.safeParse(value);
  if (checked.success) return checked.data;
  const { path: where, message } = checked.error.issues[0]!;
  throw new LoadError('BAD_FILE', `${path} is not a result of tapwire load --json: ${where.join('.')}: ${message}`);
}

function rowOf({ name, before, after, unit, change, verdict }: ComparedFigure): string[] {
  const sign = change === undefined || change < 0 ? '' : '+';
  const changed = change === undefined ? '' : `${sign}${(change * 100).toFixed(1)} %`;
  return [name, inUnit(before, unit), inUnit(after, unit), changed, verdict === 'same' ? '' : verdict];
}

function inUnit(value: number | null, unit: ComparedFigure['unit']): string {
  if (value === null) return '-';
  return `${value.toFixed(unit === '%' ? 3 : 1)}${unit === '/s' ? '' : ' '}${unit}`;
}
