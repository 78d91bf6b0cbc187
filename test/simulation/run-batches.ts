import { parentPort } from 'node:worker_threads';
import { faultsOfHistory } from './history.ts';

/** Histories of neighbouring seeds. */
export interface Batch {
  readonly first: number;
  readonly count: number;
}

export interface BatchResult {
  readonly count: number;
  readonly faults: readonly { readonly seed: number; readonly what: readonly string[] }[];
  readonly seen: ReadonlyMap<string, number>;
}

/** A worker of `run.ts`: runs the batches that it receives. */
parentPort?.on('message', async ({ first, count }: Batch) => {
  Error.stackTraceLimit = 0; // refusals are thrown all the time, and no code reads their stacks
  const seen = new Map<string, number>();
  const faults: { seed: number; what: readonly string[] }[] = [];
  for (let seed = first; seed < first + count; seed++) {
    const what = await faultsOfHistory(seed, { seen });
    if (what.length > 0) faults.push({ seed, what });
  }
  parentPort?.postMessage({ count, faults, seen } satisfies BatchResult);
});
