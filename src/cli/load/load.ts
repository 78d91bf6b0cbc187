import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { LoadResult } from '#schemas/load';
import { describeSystemError } from '../../basics/errors/system-error.ts';
import { LoadError, sentenceOf, TapwireError } from '../../basics/errors.ts';
import { resultOf } from '../../tools/load/load-result.ts';
import { type LoadRecord, LoadRun } from '../../tools/load/load-run.ts';
import { type MachineSample, MachineWatch, whyNotForTests } from '../../tools/load/machine-watch.ts';
import { NO_LEDGER, proveLedger } from '../../tools/load/prove-ledger.ts';
import { htmlReport } from '../../tools/load/report/html-report.ts';
import { failedThresholds, StepWatch } from '../../tools/load/thresholds.ts';
import { toCliError, untilAskedToStop } from '../command-end.ts';
import { bad } from '../output.ts';
import { installedTypes } from '../plug-ins.ts';
import { USAGE as CLEAN_USAGE, run as clean } from './load-clean.ts';
import { USAGE as COMPARE_USAGE, run as compare } from './load-compare.ts';
import { type LoadOptions, readLoadOptions, USAGE as TEST_USAGE } from './load-options.ts';
import { describeResult, LoadProgress } from './load-table.ts';

export const USAGE = `${TEST_USAGE}\n\n${COMPARE_USAGE}\n\n${CLEAN_USAGE}`;

/** Time for responses to calls in flight after Ctrl-C. */
const STOP_WITHIN_MS = 5_000;

/**
 * `tapwire load`: an open-loop load test. Exit code 1 when a condition of `--fail-if` holds or the ledger check
 * fails, 2 when the test could not be run. `tapwire load compare` compares two results, and `tapwire load clean` removes
 * what tests have stored.
 */
export async function run(args: string[]): Promise<number> {
  try {
    const [first, ...others] = args;
    if (first !== 'clean') return first === 'compare' ? await compare(others) : await test(args);
    await clean(others);
    return 0;
  } catch (error) {
    // Exit code 1 means that the gateway failed the test. A test that could not be run must have another code.
    const cliError = toCliError(error);
    if (cliError === undefined) throw error;
    console.error(bad(cliError.description, process.stderr));
    return 2;
  }
}

async function test(args: string[]): Promise<number> {
  const options = readLoadOptions(args, process.env);
  await refuseProd(options);
  const { result, record, samples } = await withResponsesFolder(options, performTest);
  const verdict = { thresholds: options.thresholds, failed: failedThresholds(options.thresholds, result) };
  if (options.json !== undefined) writeFileSync(options.json, `${JSON.stringify(result, null, 2)}\n`);
  if (options.report !== undefined) writeFileSync(options.report, htmlReport(result, record, samples, verdict));
  console.log(describeResult(result));
  if (options.report !== undefined) console.log(`report: ${options.report}`);
  const { failed } = verdict;
  for (const each of failed) console.error(bad(`failed: ${each}`, process.stderr));
  return failed.length > 0 || result.ledger.ok === false ? 1 : 0;
}

/** When there are ledgers to compare, the responses that clients received are kept until the comparison. */
async function withResponsesFolder<T>(options: LoadOptions, work: (options: LoadOptions) => Promise<T>): Promise<T> {
  if (options.profile.books === undefined) return work(options);
  const responsesFolder = mkdtempSync(join(tmpdir(), 'tapwire-load-'));
  try {
    return await work({ ...options, plan: { ...options.plan, responsesFolder } });
  } finally {
    rmSync(responsesFolder, { recursive: true, force: true });
  }
}

/** Thousands of taps with test cards must not reach an installation with real money, so two flags are required. */
async function refuseProd({ plan, isProdAllowed }: LoadOptions): Promise<void> {
  const reason = await whyNotForTests(plan.url);
  if (reason !== undefined && !isProdAllowed)
    throw new LoadError('REFUSED', `${reason}. To load it nevertheless, add --against-prod --yes-really.`);
}

interface PerformedTest {
  readonly result: LoadResult;
  readonly record: LoadRecord;
  readonly samples: readonly MachineSample[];
}

async function performTest(options: LoadOptions): Promise<PerformedTest> {
  const { plan, profile, arrivals, perSecond, thresholds } = options;
  const progress = new LoadProgress(process.stdout, plan);
  const steps = new StepWatch(plan.arrivals, thresholds);
  let endedBy: LoadResult['endedBy'] = 'plan';
  const end = (by: LoadResult['endedBy']) => {
    endedBy = by;
    run.stop(STOP_WITHIN_MS);
  };
  const run = new LoadRun(plan, (second, slice, total) => {
    progress.show(second, slice, total);
    if (plan.arrivals.isUntilItBreaks && endedBy === 'plan' && steps.add(second, slice) !== undefined) end('broke');
  });
  const workers = Object.fromEntries(run.pids.map((pid, at) => [`load worker ${at + 1}`, pid]));
  const watch = new MachineWatch(plan.url, { ...profile.processes, ...workers });
  let isAsked = false;
  try {
    await run.ready();
    void untilAskedToStop().then(() => {
      isAsked = true;
      end('signal');
    });
    watch.start();
    const startedAt = new Date();
    const record = await run.run();
    watch.stop();
    progress.stop();
    const ledger = await booksOf(options, startedAt, () => isAsked);
    const { samples } = watch;
    const parts = { plan, arrivals, perSecond, ledger, steps: steps.results, endedBy, samples };
    return { result: resultOf(record, parts), record, samples };
  } finally {
    watch.stop();
    run.close();
  }
}

async function booksOf(
  { plan, profile, settleWithinMs }: LoadOptions,
  startedAt: Date,
  isAsked: () => boolean,
): Promise<LoadResult['ledger']> {
  const { books } = profile;
  if (books === undefined) return NO_LEDGER;
  // What earlier runs left behind is not judged.
  const own = { ...books, since: startedAt.toISOString() };
  console.log('comparing the ledgers of gateway and switches ...');
  const types = await installedTypes();
  const { responsesFolder } = plan;
  return proveLedger({ books: own, types, responsesFolder, settleWithinMs, isAsked }).catch((error: Error) => ({
    ...NO_LEDGER,
    description: `the ledgers could not be compared: ${error instanceof TapwireError ? sentenceOf(error) : describeSystemError(error)}`,
  }));
}
