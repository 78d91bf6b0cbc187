import type { IsoMessage } from '../../../src/processor-kit/iso-message.ts';
import { recordUnmatchedResponses } from '../../../src/transactions/reversal/late-response.ts';
import { strayOf } from '../switch/dialect.ts';
import type { Statement } from '../switch/statements.ts';
import type { Execution } from './execution.ts';
import type { ExploredProcess } from './explored-process.ts';

/** As src/switches/unmatched-responses.ts looks again: soon, and when every request that may be meant is decided. */
const AGAIN_AFTER_MS = [1_000, 5_000 + 2_100 + 2_000];

/** A response that found nothing to answer, and is looked at again; lost when its process dies. */
export interface Stray {
  readonly atMs: number;
  readonly process: string;
  readonly generation: number;
  readonly name: string;
  readonly statement: Statement;
  readonly response: IsoMessage;
  /** How often it was looked at again. */
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

/** Looks whether a response answers something that it may still change; one that does not is looked at again. */
export function lookUp(execution: Execution, unmatched: Stray): void {
  const process = execution.processNamed(unmatched.process);
  const found = strayOf(unmatched.response);
  if (process.generation !== unmatched.generation || !found) return;
  execution.begin(`${process.name} takes ${unmatched.name}`, process, async (deps, task) => {
    task.hears(unmatched.statement);
    // The database was unavailable: a look that failed counts for nothing.
    const [kind] = await recordUnmatchedResponses(deps, [found]).catch(() => ['failed' as const]);
    execution.tell(`    ${process.name}: a response that nothing waits for is ${kind}`);
    const againMs = kind === 'failed' ? AGAIN_AFTER_MS[0] : AGAIN_AFTER_MS[unmatched.looks];
    const looks = unmatched.looks + (kind === 'failed' ? 0 : 1);
    if ((kind === 'unknown' || kind === 'failed') && againMs !== undefined)
      execution.unmatchedResponses.push({ ...unmatched, atMs: execution.time.nowMs + againMs, looks });
    else unmatched.statement.isUnheard = false;
  });
}
