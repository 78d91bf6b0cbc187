import { StoreUnavailable } from '../../errors.ts';
import { completionJob } from '../afterwards/complete.ts';
import { Disposition } from '../disposition.ts';
import { isAwaitingPin } from '../pin/pin-step.ts';
import type { PurchaseAnswer, SwitchAnswer } from '../ports.ts';
import { lateFactsOf, recordLate } from '../reversal/late-response.ts';
import { type Settlement, type SwitchEvent, settleOutcome } from '../settle-outcome.ts';
import { moves, Status, type StatusId } from '../status.ts';
import { OVERDUE_AFTER_SECONDS } from '../time-limits.ts';
import { ReversalState, type Transaction } from '../transaction.ts';
import { withWebhook } from '../webhook-job.ts';
import type { World } from '../world.ts';
import { awaitOutcome } from './await-outcome.ts';
import type { ReadySubmission } from './take-route.ts';

/**
 * Sends a committed submission and commits what came of it. If it is proven that nothing was written, the next processor
 * has its turn. Whoever loses the compare-and-set tells what the winner stored.
 */
export async function authorize(world: World, transaction: Transaction, ready: ReadySubmission): Promise<Transaction> {
  const answer = await ready.slot.authorize(ready.request, ready, transaction);
  if (answer.kind === 'failed' && !answer.written) {
    const next = await ready.next();
    const submitted = next && (await submitReady(world, transaction, next).catch(afterSubmission));
    if (submitted) return authorize(world, submitted, next);
  }
  return settle(world, transaction, answer, ready);
}

/**
 * Commits that an accepted tap goes to this switch: 3 -> 4, or 4 -> 3 -> 4 when the one before it never got a byte.
 *
 * @returns undefined, with the slot given back, when somebody else has decided or `answer_by` leaves no full deadline
 */
export async function submitReady(
  world: World,
  before: Transaction,
  { submission, slot }: ReadySubmission,
): Promise<Transaction | undefined> {
  const overdueJob = world.newId();
  const { ReadyToSubmitToPaymentProcessor: ready, SubmittedToPaymentProcessor: status } = Status;
  const transaction: Transaction = { ...before, ...submission, overdueJob, status };
  const path: StatusId[] = before.status === ready ? [status] : [ready, status];
  const { acquirerId, id, attempt } = transaction;
  const startAfterSeconds = (submission.deadlineSeconds ?? 0) + OVERDUE_AFTER_SECONDS;
  let isCommitted = false;
  try {
    isCommitted = await world.store.submit({
      transaction,
      fromStatus: before.status,
      moves: moves(before.status, path, world.clock.nowMs()),
      enqueue: [{ queue: 'overdue', id: overdueJob, data: { acquirerId, id, attempt }, startAfterSeconds }],
      remove: before.overdueJob ? [before.overdueJob] : [],
    });
  } finally {
    if (!isCommitted) slot.release();
  }
  return isCommitted ? transaction : undefined;
}

async function settle(
  world: World,
  transaction: Transaction,
  answer: SwitchAnswer<PurchaseAnswer>,
  ready: ReadySubmission,
): Promise<Transaction> {
  const nowMs = world.clock.nowMs();
  const reverseJob = world.newId();
  const decided = withCompletion(
    transaction,
    settlementOf(transaction, eventOf(answer, ready), reverseJob, nowMs),
    ready,
  );
  const settlement = withWebhook(world, transaction, decided, nowMs);
  const rememberOriginal = () => world.originals.remember(transaction.id, answer.connectionId);
  // Before the commit: its job may be found at once.
  if (settlement.result.reversalState === ReversalState.owed) rememberOriginal();
  const isCommitted = await world.store
    .settle({ transaction, settlement, isOverdue: false, nowMs })
    .catch(afterSubmission);
  world.wakeups.announce(transaction);
  const { status, result, pin } = settlement;
  // Until when a PIN is awaited, the row alone says.
  if (isCommitted && isAwaitingPin(pin)) return awaitOutcome(world, transaction);
  const settled = isCommitted
    ? { ...transaction, ...result, ...pin, status, updatedAtMs: nowMs }
    : await awaitOutcome(world, transaction);
  if (settled.reversalState === ReversalState.none) return settled;

  // Whoever has decided: the first reversal is this process's to send, on the connection that no other has.
  rememberOriginal();
  if (!isCommitted && answer.kind === 'answered') await recordLate(world, settled, lateFactsOf(answer.value.outcome));
  const { acquirerId, id, attempt } = settled;
  world.reverseAhead({ acquirerId, id, attempt, reversalAttempt: 1 }, isCommitted ? reverseJob : undefined);
  return settled;
}

function settlementOf(transaction: Transaction, event: SwitchEvent, reverseJob: string, nowMs: number): Settlement {
  const settlement = settleOutcome(transaction, event, nowMs);
  const enqueue = settlement.enqueue.map((job) => (job.queue === 'reverse' ? { ...job, id: reverseJob } : job));
  return { ...settlement, enqueue };
}

/** An approval that is posted only by a completion is committed with the job that sends it. */
function withCompletion(transaction: Transaction, settlement: Settlement, { request }: ReadySubmission): Settlement {
  if (!request.wantsCompletion || settlement.result.disposition !== Disposition.Approved) return settlement;
  return { ...settlement, enqueue: [...settlement.enqueue, completionJob(transaction)] };
}

/** Whatever the database did not take: the tap itself is stored, and its `overdue` job will decide. */
function afterSubmission(cause: unknown): never {
  throw cause instanceof StoreUnavailable ? new StoreUnavailable(true, { cause }) : cause;
}

function eventOf(answer: SwitchAnswer<PurchaseAnswer>, { pinWait }: ReadySubmission): SwitchEvent {
  switch (answer.kind) {
    case 'answered':
      return { kind: 'answered', ...answer.value, pinWait };
    case 'garbled':
      return { kind: 'garbled' };
    case 'failed':
      return { kind: answer.written ? 'unanswered' : 'unsent' };
  }
}
