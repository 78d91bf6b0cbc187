import { StoreUnavailable } from '../../errors.ts';
import type { ReversalAnswer } from '../../processor-kit/processor.ts';
import type { ReversalKey, ReversalStep, ReviewReason } from '../ports.ts';
import type { Transaction } from '../transaction.ts';
import { webhookJobs } from '../webhook-job.ts';
import type { World } from '../world.ts';
import { answeredStep } from './reversal-answers.ts';
import { withVoidRow } from './void-row.ts';

type AnswerWorld = Pick<World, 'store' | 'refunds' | 'clock' | 'directory' | 'newId' | 'alarms' | 'wakeups'>;

/** Longer than a database takes to restart or to be replaced, shorter than the claim of the job that waits here. */
const UNREAD_FOR_MS = 30_000;
const READ_AGAIN_MS = 1_000;
/** Each time somebody else may have recorded another answer, or sent the next attempt. */
const MOST_TRIES = 3;

/**
 * Records a switch's answer to an attempt of a reversal, whenever and wherever it came, and what follows from it.
 *
 * @returns `unknown` when the reversal never stood still: the answer is to be looked at again
 */
export async function recordReversalAnswer(
  world: AnswerWorld,
  key: ReversalKey,
  answer: ReversalAnswer,
): Promise<'late' | 'duplicate' | 'unknown'> {
  for (let tries = 0; tries < MOST_TRIES; tries++) {
    const transaction = await read(world, key, () => world.store.findRequest(key));
    if (!transaction) return 'unknown';
    const facts = await read(world, key, () => world.store.findOriginalFacts(transaction));
    const nowMs = world.clock.nowMs();
    const step = answeredStep({ transaction, facts, sentAtMs: key.sentAtMs, answer, nowMs });
    if (!step) return 'duplicate';
    if (await stepReversal(world, step)) return 'late';
  }
  return 'unknown';
}

/** Reads, again while the database is unavailable: the switch will not say it once more before its next attempt. */
async function read<T>(world: AnswerWorld, key: ReversalKey, find: () => Promise<T>): Promise<T> {
  const untilMs = world.clock.monotonicMs() + UNREAD_FOR_MS;
  for (;;) {
    try {
      return await find();
    } catch (error) {
      if (!(error instanceof StoreUnavailable) || world.clock.monotonicMs() > untilMs) throw error;
    }
    await world.wakeups.moved(key, READ_AGAIN_MS);
  }
}

/** Commits a step with what it means to others: the row of the void, the integrator, who waits, and the person to be called. */
export async function stepReversal(world: AnswerWorld, decided: ReversalStep, fault?: string): Promise<boolean> {
  const step = await withVoidRow(world, withWebhook(world, decided));
  if (!(await world.store.stepReversal(step))) return false;
  if (step.to.disposition !== step.transaction.disposition) world.wakeups.announce(step.transaction);
  if (needsPerson(step)) world.alarms.needsReview(step.transaction, reasonOf(step, fault), fault);
  return true;
}

/** One that was Voided before, and reversed again after a late approval, was told before. */
function withWebhook(world: AnswerWorld, step: ReversalStep): ReversalStep {
  const { transaction, to, nowMs } = step;
  if (to.disposition === transaction.disposition) return step;
  const after: Transaction = { ...transaction, ...to };
  return { ...step, enqueue: [...step.enqueue, ...webhookJobs(world, transaction, after, nowMs)] };
}

/** The last attempt may still be acknowledged: who sends it calls for a person when it was not. */
function needsPerson({ transaction, to, told }: ReversalStep): boolean {
  const names = told.map((each) => ('reversal' in each ? each.reversal : undefined));
  const isNews = names.includes('needsReview') || (to.needsReview && !transaction.needsReview);
  return isNews && !names.includes('sent');
}

function reasonOf({ record }: ReversalStep, fault: string | undefined): ReviewReason {
  if (fault !== undefined) return 'UNSENDABLE';
  return record?.kind === 'answered' ? 'CONTRADICTORY' : 'UNACKNOWLEDGED';
}
