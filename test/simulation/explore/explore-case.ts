import { parentPort, workerData } from 'node:worker_threads';
import type { Manner } from './calm.ts';
import { CASES } from './cases.ts';
import { storyOf } from './replay.ts';
import { search, type Violation } from './search.ts';

/** The order for a worker. */
export interface CaseOrder {
  readonly name: string;
  readonly depth: number;
  readonly mostFaults: number;
  readonly mostViolations: number;
  readonly manners: readonly Manner[];
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
  readonly violations: readonly (Violation & { readonly story: readonly string[] })[];
}

/** Explores one case; `onLevel` is called for each completed number of events. */
export async function exploreCase(
  { name, seconds, ...options }: CaseOrder,
  onLevel?: (depth: number, states: number) => void,
): Promise<CaseReport> {
  const explored = CASES.find((each) => each.name === name);
  if (!explored) throw new Error(`No case is named ${name}`);
  const startedAtMs = Date.now();
  const result = await search(explored, { ...options, untilMs: startedAtMs + seconds * 1_000, onLevel });
  const { states, executions, depth } = result;
  const violations = [];
  for (const violation of result.violations) {
    violations.push({ ...violation, story: await storyOf(explored, violation.history, violation.manner) });
  }
  const isComplete = depth === options.depth;
  return { name, states, executions, depth, isComplete, seconds: (Date.now() - startedAtMs) / 1_000, violations };
}

if (parentPort) parentPort.postMessage(await exploreCase(workerData as CaseOrder));
