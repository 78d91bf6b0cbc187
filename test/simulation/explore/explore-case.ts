import { parentPort, workerData } from 'node:worker_threads';
import { ALL_CASES } from './all-cases.ts';
import type { Policy } from './policies.ts';
import { storyOf } from './replay.ts';
import { search, type Violation } from './search.ts';

/** The order for a worker. */
export interface CaseOrder {
  readonly name: string;
  readonly depth: number;
  readonly mostFaults: number;
  readonly mostViolations: number;
  readonly policies: readonly Policy[];
  readonly isReduced?: boolean;
  /** The search ends then, complete or not. */
  readonly seconds: number;
}

export interface CaseReport {
  readonly name: string;
  readonly states: number;
  readonly executions: number;
  readonly depth: number;
  readonly isComplete: boolean;
  readonly seconds: number;
  /** Of a processor, without garbage collection beside it. */
  readonly cpuSeconds: number;
  readonly violations: readonly (Violation & { readonly story: readonly string[] })[];
}

/** Explores one case; `onLevel` is called for each completed number of events. */
export async function exploreCase(
  { name, seconds, ...options }: CaseOrder,
  onLevel?: (depth: number, states: number) => void,
): Promise<CaseReport> {
  const explored = ALL_CASES.find((each) => each.name === name);
  if (!explored) throw new Error(`No case is named ${name}`);
  const startMs = Date.now();
  const startCpu = process.threadCpuUsage();
  const result = await search(explored, { ...options, untilMs: startMs + seconds * 1_000, onLevel });
  const { states, executions, depth } = result;
  const violations = [];
  for (const violation of result.violations) {
    violations.push({ ...violation, story: await storyOf(explored, violation, options.isReduced ?? true) });
  }
  const isComplete = depth === options.depth;
  const { user, system } = process.threadCpuUsage(startCpu);
  const spent = { seconds: (Date.now() - startMs) / 1_000, cpuSeconds: (user + system) / 1e6 };
  return { name, states, executions, depth, isComplete, ...spent, violations };
}

if (parentPort) {
  const order = workerData as CaseOrder;
  const startMs = Date.now();
  const onLevel = (depth: number, states: number) =>
    console.error(`${order.name}: ${depth} events, ${states} states, ${Math.round((Date.now() - startMs) / 1_000)} s`);
  parentPort.postMessage(await exploreCase(order, onLevel));
}
