import type { IsoMessage } from '../../../src/processor-kit/iso-message.ts';
import { recordUnmatchedResponses } from '../../../src/transactions/reversal/late-response.ts';
import { strayOf } from '../switch/dialect.ts';
import type { Statement } from '../switch/statements.ts';
import type { Execution } from './execution.ts';
import type { ExploredProcess } from './explored-process.ts';

/** Repeats as in src/switches/unmatched-responses.ts: soon, and after every possible request is decided. */
const AGAIN_AFTER_MS = [1_000, 5_000 + 2_100 + 2_000];

/** A response that matched nothing, and is looked up again; lost when its process dies. */
export interface Stray {
  readonly atMs: number;
  readonly process: string;
  readonly generation: number;
  readonly name: string;
  readonly statement: Statement;
  readonly response: IsoMessage;
  /** How often it was looked up again. */
  readonly looks: number;
}

/** A response that nothing in this process waits for. */
export function takeStray(
  execution: Execution,
  { name: process, generation }: ExploredProcess,
  { response, statement, name }: Pick<Stray, 'response' | 'statement' | 'name'>,
): void {
  lookUp(execution, { atMs: execution.time.nowMs, process, generation, name, response, statement, looks: 0 });
}

/** Looks up whether a response answers a request that it may still change; otherwise it is looked up again. */
export function lookUp(execution: Execution, unmatched: Stray): void {
  const process = execution.processNamed(unmatched.process);
  const found = strayOf(unmatched.response);
  if (process.generation !== unmatched.generation || !found) return;
  execution.begin(`${process.name} takes ${unmatched.name}`, process, async (deps, task) => {
    task.hears(unmatched.statement);
    // The database was unavailable: a failed lookup does not count.
    const [kind] = await recordUnmatchedResponses(deps, [found]).catch(() => ['failed' as const]);
    execution.tell(`    ${process.name}: a response that nothing waits for is ${kind}`);
    const againMs = kind === 'failed' ? AGAIN_AFTER_MS[0] : AGAIN_AFTER_MS[unmatched.looks];
    const looks = unmatched.looks + (kind === 'failed' ? 0 : 1);
    if ((kind === 'unknown' || kind === 'failed') && againMs !== undefined)
      execution.unmatchedResponses.push({ ...unmatched, atMs: execution.time.nowMs + againMs, looks });
    else unmatched.statement.isUnheard = false;
  });
}
