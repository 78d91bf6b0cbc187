import { availableParallelism } from 'node:os';
import { parseArgs } from 'node:util';
import { Worker } from 'node:worker_threads';
import { addSeen, missingFrom, type Seen } from './coverage.ts';
import { faultsOfHistory } from './history.ts';
import type { Batch, BatchResult } from './run-batches.ts';

/**
 * `npm run simulate-histories -- --histories 1000000 [--workers 2] [--first 1]`: more histories than `npm test` has
 * time for, each with its own seed; `--first 4711 --histories 1` replays one and prints its story. Exit code 1 if one
 * has a fault, or if something that must occur never did.
 */
const { values } = parseArgs({
  options: {
    histories: { type: 'string', default: '100000' },
    first: { type: 'string', default: '1' },
    workers: { type: 'string', default: String(availableParallelism()) },
    'until-fault': { type: 'boolean', default: false },
  },
});
const [count, first, workers] = [Number(values.histories), Number(values.first), Number(values.workers)];
const BATCH = 250;
const TOLD_EVERY_MS = 10_000;
/** With fewer histories something may be missing by chance. */
const COVERED_FROM = 2_000;

const startedAtMs = Date.now();
const seen: Seen = new Map();
let [next, done, faulty, toldMs] = [first, 0, 0, startedAtMs];

function nextBatch(): Batch | undefined {
  const isFound = values['until-fault'] && faulty > 0;
  if (next >= first + count || isFound) return undefined;
  const batch = { first: next, count: Math.min(BATCH, first + count - next) };
  next += batch.count;
  return batch;
}

function take({ faults, seen: seenThere, count: histories }: BatchResult): void {
  for (const { seed, what } of faults) console.log(`--first ${seed} --histories 1: ${what.join('; ')}`);
  addSeen(seen, seenThere);
  done += histories;
  faulty += faults.length;
  if (Date.now() - toldMs >= TOLD_EVERY_MS || done === count) tellProgress();
}

function tellProgress(): void {
  toldMs = Date.now();
  const seconds = (toldMs - startedAtMs) / 1_000;
  console.log(`${done} histories, ${faulty} with faults, ${Math.round(done / seconds)} a second`);
}

function runWorker(): Promise<void> {
  const worker = new Worker(new URL('./run-batches.ts', import.meta.url));
  return new Promise((resolve, reject) => {
    worker.on('error', reject);
    const go = () => {
      const batch = nextBatch();
      if (batch) return worker.postMessage(batch);
      worker.terminate().then(() => resolve(), reject);
    };
    worker.on('message', (result: BatchResult) => {
      take(result);
      go();
    });
    go();
  });
}

if (count === 1) {
  const story: string[] = [];
  await faultsOfHistory(first, { story });
  for (const line of story) console.log(line);
}
await Promise.all(Array.from({ length: workers }, runWorker));
for (const [what, times] of [...seen].sort()) console.log(`${what}: ${times}`);
const missing = count >= COVERED_FROM ? missingFrom(seen) : [];
if (missing.length > 0) console.log(`never came up: ${missing.join(', ')}`);
process.exitCode = faulty > 0 || missing.length > 0 ? 1 : 0;
