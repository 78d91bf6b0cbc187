import { StoreUnavailable } from '../../basics/errors.ts';
import type { ReversalAnswer } from '../../kits/processor-kit/processor.ts';
import { answeredStep } from '../decisions/reversal-answers.ts';
import { webhookJobs } from '../decisions/webhook-job.ts';
import type { Transaction } from '../model/transaction.ts';
import type { ReviewReason } from '../ports/process-ports.ts';
import type { ReversalStep } from '../ports/reversal-ports.ts';
import type { ReversalKey } from '../ports/store-ports.ts';
import type { TransactionDependencies } from '../ports/transaction-dependencies.ts';
import { withVoidRow } from './void-row.ts';

/** What it takes to record a step of a reversal. */
export type ReversalAnswerDependencies = Pick<
  TransactionDependencies,
  'store' | 'refunds' | 'clock' | 'directory' | 'newId' | 'alarms' | 'wakeups'
>;

/** Longer than a database takes to restart or to be replaced, shorter than the lease of the job that waits here. */
const UNREAD_FOR_MS = 30_000;
const READ_AGAIN_MS = 1_000;
/** Before each retry another process may have recorded another response, or sent the next attempt. */
const MOST_TRIES = 3;

/**
 * Records a switch response to an attempt of a reversal, at any time and on any connection, and its effects.
 *
 * @returns `unknown` if the reversal changed during every try: then the response must be processed again
 */
export async function recordReversalAnswer(
  deps: ReversalAnswerDependencies,
  key: ReversalKey,
  answer: ReversalAnswer,
): Promise<'late' | 'duplicate' | 'unknown'> {
  for (let tries = 0; tries < MOST_TRIES; tries++) {
    const transaction = await read(deps, key, () => deps.store.findRequest(key));
    if (!transaction) return 'unknown';
    const facts = await read(deps, key, () => deps.store.findOriginalFacts(transaction));
    const nowMs = deps.clock.nowMs();
    const step = answeredStep({ transaction, facts, sentAtMs: key.sentAtMs, answer, nowMs });
    if (!step) return 'duplicate';
    if (await stepReversal(deps, step)) return 'late';
  }
  return 'unknown';
}

/**
 * Retries the read while the database is unavailable, because the switch does not repeat the response before the
 * next attempt.
 */
async function read<T>(
  deps: Pick<TransactionDependencies, 'clock' | 'wakeups'>,
  key: ReversalKey,
  find: () => Promise<T>,
): Promise<T> {
  const giveUpAtMs = deps.clock.monotonicMs() + UNREAD_FOR_MS;
  for (;;) {
    try {
      return await find();
    } catch (error) {
      if (!(error instanceof StoreUnavailable) || deps.clock.monotonicMs() > giveUpAtMs) throw error;
    }
    await deps.wakeups.moved(key, READ_AGAIN_MS);
  }
}

/** Commits a step with its effects: the row of the void, the webhook, the waiting requests, and the person to alert. */
export async function stepReversal(
  deps: ReversalAnswerDependencies,
  decided: ReversalStep,
  fault?: string,
): Promise<boolean> {
  const step = await withVoidRow(deps, withWebhook(deps, decided));
  if (!(await deps.store.stepReversal(step))) return false;
  if (step.to.disposition !== step.transaction.disposition) deps.wakeups.announce(step.transaction);
  if (needsPerson(step)) deps.alarms.needsReview(step.transaction, reasonOf(step, fault), fault);
  return true;
}

/** A transaction that was Voided before, and reversed again after a late approval, was already reported. */
function withWebhook(deps: Pick<TransactionDependencies, 'directory' | 'newId'>, step: ReversalStep): ReversalStep {
  const { transaction, to, nowMs } = step;
  if (to.disposition === transaction.disposition) return step;
  const after: Transaction = { ...transaction, ...to };
  return { ...step, enqueue: [...step.enqueue, ...webhookJobs(deps, transaction, after, nowMs)] };
}

/** The last attempt may still be acknowledged: if it is not, its sender alerts a person. */
function needsPerson({ transaction, to, auditEntries }: ReversalStep): boolean {
  const names = auditEntries.map((each) => ('reversal' in each ? each.reversal : undefined));
  const isNews = names.includes('needsReview') || (to.needsReview && !transaction.needsReview);
  return isNews && !names.includes('sent');
}

function reasonOf({ record }: ReversalStep, fault: string | undefined): ReviewReason {
  if (fault !== undefined) return 'UNSENDABLE';
  return record?.kind === 'answered' ? 'CONTRADICTORY' : 'UNACKNOWLEDGED';
}
