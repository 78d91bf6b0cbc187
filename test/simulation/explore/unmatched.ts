import type { IsoMessage } from '../../../src/kits/processor-kit/iso-fields.ts';
import { Disposition } from '../../../src/payments/model/disposition.ts';
import { ReversalState, TransactionType } from '../../../src/payments/model/transaction.ts';
import type { UnmatchedResponse } from '../../../src/payments/reversals/late-responses.ts';
import { createUseCases } from '../../../src/payments/use-cases.ts';
import { DECLINES } from '../rules/lies.ts';
import { unmatchedOf } from '../switch/dialect.ts';
import { hear, type Statement } from '../switch/statements.ts';
import type { Execution } from './execution.ts';
import { approvalKey, type ExploredProcess } from './explored-process.ts';

/** Repeats as in src/switching/switches/unmatched-responses.ts: soon, and after every possible request is decided. */
const AGAIN_AFTER_MS = [1_000, 5_000 + 2_100 + 2_000];

/** A response that matched nothing, and is looked up again; lost when its process dies. */
export interface UnmatchedInTransit {
  readonly atMs: number;
  readonly process: string;
  readonly generation: number;
  readonly name: string;
  /** Index of what was said. */
  readonly said: number;
  readonly response: IsoMessage;
  /** How often it was looked up again. */
  readonly lookUps: number;
}

/** A response that nothing in this process waits for. */
export function takeUnmatched(
  execution: Execution,
  { name: process, generation }: ExploredProcess,
  { response, said, name }: Pick<UnmatchedInTransit, 'response' | 'said' | 'name'>,
): void {
  lookUp(execution, { atMs: execution.time.nowMs, process, generation, name, response, said, lookUps: 0 });
}

/** Looks up whether a response belongs to a request that it may still change; otherwise it is looked up again. */
export function lookUp(execution: Execution, unmatched: UnmatchedInTransit): void {
  const process = execution.processNamed(unmatched.process);
  const unknown = unmatchedOf(unmatched.response);
  if (process.generation !== unmatched.generation || !unknown) return;
  // The reduction does not know what a process remembers of approvals.
  const approved = execution.honest && process.approvals.get(approvalKey(unmatched.response));
  const found: UnmatchedResponse = 'read' in unknown ? { ...unknown, approved } : unknown;
  const isLastLookUp = unmatched.lookUps >= AGAIN_AFTER_MS.length;
  execution.begin(`${process.name} takes ${unmatched.name}`, process, async (deps, task, within) => {
    task.recall('hears', () => task.hears(unmatched.said));
    // The database was unavailable: a look that failed counts for nothing.
    const [kind] = await createUseCases(deps)
      .lateResponses.recordUnmatched([found], isLastLookUp)
      .catch(() => ['failed' as const]);
    within.tell(`    ${process.name}: a response that nothing waits for is ${kind}`);
    const againMs = kind === 'failed' ? AGAIN_AFTER_MS[0] : AGAIN_AFTER_MS[unmatched.lookUps];
    const lookUps = unmatched.lookUps + (kind === 'failed' ? 0 : 1);
    const looksAgain = (kind === 'unknown' || kind === 'failed') && againMs !== undefined;
    const statement = within.statements[unmatched.said]!;
    if (looksAgain && !isInert(within, statement))
      within.unmatchedResponses.push({ ...unmatched, atMs: within.time.nowMs + againMs, lookUps });
    else hear(statement, within.time.nowMs);
  });
}

/** Whether nothing can ever come of a response to a purchase or a refund: it is not worth looking at it again. */
function isInert(execution: Execution, { about, transactionId, number, meaning }: Statement): boolean {
  const row = execution.store.rows.get(transactionId);
  if (!execution.isReduced || about !== 'request' || !row) return false;
  const stan = execution.requests[number - 1]!.message.stan;
  const request = [row.transaction, ...row.superseded].find((each) => each.stan === stan);
  if (!request) return false;
  const isDecline = DECLINES.includes(meaning);
  const isApproved = request.disposition === Disposition.Approved;
  // Of a request that received a response, a late decline contradicts an approval, and else changes nothing.
  if (isDecline && request.responseCode !== null && !isApproved) return true;
  // What is approved can be reversed by a void only.
  const isSettled = isApproved && !isDecline && request.reversalState === ReversalState.none;
  return isSettled && (request.type === TransactionType.Refund || !execution.mayBeVoided);
}
