import { availableParallelism } from 'node:os';
import { parseArgs } from 'node:util';
import { Worker } from 'node:worker_threads';
import type { Manner } from './calm.ts';
import { CASES } from './cases.ts';
import type { CaseOrder, CaseReport } from './explore-case.ts';

/**
 * `npm run explore [-- --case 'sale and void'] [--depth 8] [--faults 1]`: every history with up to `depth` events, of
 * which `faults` may be faults of processes, connections and the database, for each case. Exit code 1 if one violates a
 * rule.
 * With `--mutations`, mutations/run.ts breaks the gateway on purpose, and verifies that this is found.
 */
const { values } = parseArgs({
  options: {
    case: { type: 'string' },
    depth: { type: 'string', default: '8' },
    faults: { type: 'string', default: '1' },
    seconds: { type: 'string', default: '7200' },
    violations: { type: 'string', default: '3' },
    workers: { type: 'string', default: String(availableParallelism()) },
    json: { type: 'boolean', default: false },
  },
});

const MANNERS: readonly Manner[] = ['strict', 'obliging', 'silent'];
/** Memory holds the names of known states, and the words of histories that are still to be explored. */
const MOST_MEGABYTES = 8_192;

function exploreInWorker(name: string): Promise<CaseReport> {
  const order: CaseOrder = {
    name,
    depth: Number(values.depth),
    mostFaults: Number(values.faults),
    mostViolations: Number(values.violations),
    manners: MANNERS,
    seconds: Number(values.seconds),
  };
  return new Promise((resolve, reject) => {
    const worker = new Worker(new URL('./explore-case.ts', import.meta.url), {
      workerData: order,
      resourceLimits: { maxOldGenerationSizeMb: MOST_MEGABYTES },
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
  const { name, states, executions, depth, isComplete, seconds, violations } = report;
  const reach = isComplete ? `every history of ${depth} events` : `stopped after every history of ${depth} events`;
  console.log(`${name}: ${states} states, ${executions} histories, ${reach}, ${seconds.toFixed(1)} s`);
  for (const { faults, history, story } of violations) {
    console.log(`\n${name}: ${faults.join('; ')}\nthe shortest history, ${history.length} events:`);
    for (const word of history) console.log(`  ${word}`);
    console.log('in full:');
    for (const line of story) console.log(`  ${line}`);
  }
}

const waiting = CASES.map(({ name }) => name).filter((name) => values.case === undefined || name === values.case);
if (waiting.length === 0) throw new Error(`The cases are ${CASES.map(({ name }) => name).join(', ')}`);
const lanes = Array.from({ length: Number(values.workers) }, async () => {
  for (let name = waiting.shift(); name !== undefined; name = waiting.shift()) {
    const report = await exploreInWorker(name);
    print(report);
    if (report.violations.length > 0) process.exitCode = 1;
  }
});
await Promise.all(lanes);
