import { availableParallelism } from 'node:os';
import { parseArgs } from 'node:util';
import { Worker } from 'node:worker_threads';
import { ALL_CASES } from './all-cases.ts';
import type { Case } from './cases.ts';
import { compareSearches } from './compare-searches.ts';
import type { CaseOrder, CaseReport } from './explore-case.ts';
import { POLICIES } from './policies.ts';

/**
 * `npm run explore [-- --case 'sale and void'] [--depth 8] [--faults 1]`: every history with up to `depth` events
 * (8, at honest switches 4), of which `faults` may be faults of processes, connections and the database, for each case.
 * Exit code 1 if one violates a rule.
 * With `--compare`, each case is searched with and without the reduction of states. Exit code 1 if the results differ.
 * With `--mutations`, mutations/run.ts breaks the gateway on purpose, and verifies that this is found.
 */
const { values } = parseArgs({
  options: {
    case: { type: 'string' },
    depth: { type: 'string' },
    faults: { type: 'string', default: '1' },
    seconds: { type: 'string', default: '7200' },
    violations: { type: 'string', default: '3' },
    workers: { type: 'string', default: String(availableParallelism()) },
    json: { type: 'boolean', default: false },
    compare: { type: 'boolean', default: false },
  },
});

/** The states of honest switches are not reduced, and there are fifty cases of them. */
function depthOf(isHonest: boolean): number {
  return Number(values.depth ?? (isHonest ? 4 : 8));
}

/** Memory holds the names of known states, and the words of histories that are still to be explored. */
const MAX_MEGABYTES = 8_192;

function exploreInWorker({ name, behaviour }: Case): Promise<CaseReport> {
  const order: CaseOrder = {
    name,
    depth: depthOf(behaviour !== undefined),
    mostFaults: Number(values.faults),
    mostViolations: Number(values.violations),
    policies: POLICIES,
    seconds: Number(values.seconds),
  };
  return new Promise((resolve, reject) => {
    const worker = new Worker(new URL('./explore-case.ts', import.meta.url), {
      workerData: order,
      resourceLimits: { maxOldGenerationSizeMb: MAX_MEGABYTES },
    });
    worker.on('message', resolve);
    worker.on('error', reject);
  });
}

function print(report: CaseReport): void {
  if (values.json) {
    console.log(JSON.stringify(report));
    return;
  }
  const { name, states, executions, depth, isComplete, seconds, cpuSeconds, violations } = report;
  const reach = isComplete ? `every history of ${depth} events` : `stopped after every history of ${depth} events`;
  console.log(
    `${name}: ${states} states, ${executions} histories, ${reach}, ${seconds.toFixed(1)} s, ${cpuSeconds.toFixed(1)} s of a processor`,
  );
  for (const { faults, history, story } of violations) {
    console.log(`\n${name}: ${faults.join('; ')}\nthe shortest history, ${history.length} events:`);
    for (const word of history) console.log(`  ${word}`);
    console.log('in full:');
    for (const line of story) console.log(`  ${line}`);
  }
}

/** Searches a case with and without the reduction. @returns whether both have found the same */
async function compareCase(explored: Case): Promise<boolean> {
  const comparison = await compareSearches(explored, {
    depth: depthOf(explored.behaviour !== undefined),
    mostFaults: Number(values.faults),
  });
  const { states, missed, added, faults } = comparison;
  if (values.json) console.log(JSON.stringify(comparison));
  else {
    console.log(`${explored.name}: ${states.reduced} states instead of ${states.whole}, ${faults.length} violations`);
    for (const each of missed) console.log(`  missed: ${each}`);
    for (const each of added) console.log(`  added: ${each}`);
  }
  return missed.length === 0 && added.length === 0;
}

/** `--case 'one sale'`: at every switch; `--case plain`: every scene at that switch. */
const isAsked = (name: string, asked: string) =>
  name === asked || name.startsWith(`${asked}, `) || name.endsWith(`, ${asked}`);
const cases = ALL_CASES.filter(({ name }) => values.case === undefined || isAsked(name, values.case));
if (cases.length === 0) throw new Error(`The cases are ${ALL_CASES.map(({ name }) => name).join(', ')}`);
if (values.compare) {
  for (const explored of cases) if (!(await compareCase(explored))) process.exitCode = 1;
} else {
  // The longest first.
  const waiting = cases.toReversed();
  const lanes = Array.from({ length: Number(values.workers) }, async () => {
    for (let explored = waiting.shift(); explored; explored = waiting.shift()) {
      const report = await exploreInWorker(explored);
      print(report);
      if (report.violations.length > 0) process.exitCode = 1;
    }
  });
  await Promise.all(lanes);
}
