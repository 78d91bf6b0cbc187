import { isUnstored, StoreUnavailable } from '../../basics/errors.ts';
import { decideOutcome, type SwitchEvent } from '../decisions/decide-outcome.ts';
import { withWebhook } from '../decisions/webhook-job.ts';
import type { Decision } from '../model/decision.ts';
import { Disposition } from '../model/disposition.ts';
import { hasAnswer, isAwaitingPin } from '../model/pin.ts';
import { moves, Status, type StatusId } from '../model/status.ts';
import { ANSWER_SLACK_SECONDS, OUTCOME_GRACE_SECONDS, OVERDUE_AFTER_SECONDS } from '../model/time-limits.ts';
import { ReversalState, type Transaction } from '../model/transaction.ts';
import type { NewSubmission } from '../ports/store-ports.ts';
import type { PurchaseAnswer, SwitchAnswer } from '../ports/switch-ports.ts';
import type { TransactionDependencies } from '../ports/transaction-dependencies.ts';
import { lateFactsOf, recordLate } from '../reversals/late-response.ts';
import { decideOverdue, type OutcomeDependencies } from '../reversals/overdue.ts';
import type { ReversalAnswerDependencies } from '../reversals/record-reversal-answer.ts';
import { completionJob } from './complete.ts';
import type { ReadySubmission } from './prepare-submission.ts';

/**
 * A wake-up can be lost, or come from a process that does not share them, so the row is read at this interval
 * anyway.
 */
const LOOK_AGAIN_MS = 1_000;
/**
 * A database that restarts or is replaced is usually available again within this time, so waiting requests do not
 * notice.
 */
const UNREAD_FOR_MS = 10_000;

/** After the last moment another process may be deciding, or the clock of the database may be slightly behind. */
const DECIDED_WITHIN_MS = 5_000;

/**
 * Waits for an outcome, or a request for a PIN, that another actor commits: a worker, the `overdue` job, or the same
 * request in another process. The result always comes from the row. After the last moment the caller makes the
 * transition itself; it never invents an outcome.
 *
 * @throws StoreUnavailable, `mayBeStored`, if the row does not exist, cannot be read for a long time, or stays
 * undecided
 */
export async function awaitOutcome(deps: OutcomeDependencies, transaction: Transaction): Promise<Transaction> {
  const deadlineSeconds = transaction.deadlineSeconds ?? deps.longestDeadlineSeconds(transaction.acquirerId);
  const lastMomentAtMs =
    deps.clock.monotonicMs() + (deadlineSeconds + ANSWER_SLACK_SECONDS + OUTCOME_GRACE_SECONDS) * 1000;
  let readAtMs = deps.clock.monotonicMs();
  for (;;) {
    const current = await lookOrDecide(deps, transaction, lastMomentAtMs).catch((cause) => {
      if (!(cause instanceof StoreUnavailable)) throw cause;
      if (deps.clock.monotonicMs() - readAtMs >= UNREAD_FOR_MS) throw new StoreUnavailable(true, { cause });
      return 'unread' as const;
    });
    if (current === undefined) throw new StoreUnavailable(true);
    if (current !== 'unread') {
      if (hasAnswer(current)) return current;
      readAtMs = deps.clock.monotonicMs();
    }
    const leftMs = lastMomentAtMs - deps.clock.monotonicMs();
    if (leftMs <= -DECIDED_WITHIN_MS) throw new StoreUnavailable(true);
    const lookAgainMs = leftMs > 0 ? Math.min(leftMs, LOOK_AGAIN_MS) : LOOK_AGAIN_MS;
    await deps.observer.wait(() => deps.wakeups.moved(transaction, lookAgainMs));
  }
}

/** The row as stored; after the last moment, the row after the decision of this request. */
async function lookOrDecide(
  deps: OutcomeDependencies,
  transaction: Transaction,
  lastMomentAtMs: number,
): Promise<Transaction | undefined> {
  const current = await deps.store.find(transaction);
  if (!current || hasAnswer(current) || deps.clock.monotonicMs() < lastMomentAtMs) return current;
  await decideOverdue(deps, current);
  return deps.store.find(transaction);
}

/** The outcome may be decided elsewhere meanwhile; the switch response is then a late one. */
export type AuthorizeDependencies = OutcomeDependencies &
  ReversalAnswerDependencies &
  Pick<TransactionDependencies, 'originals' | 'reverseAhead'>;

/**
 * Sends a committed submission and commits its result. If it is proven that nothing was written, the next processor
 * is tried. If another process has committed first, the caller returns the stored result.
 */
export async function authorize(
  deps: AuthorizeDependencies,
  transaction: Transaction,
  ready: ReadySubmission,
): Promise<Transaction> {
  const answer = await deps.observer.roundTrip('authorization', ready.processorType, transaction, () =>
    ready.slot.authorize(ready.request, ready, transaction),
  );
  if (answer.kind === 'failed' && !answer.written) {
    const next = await ready.next();
    const submitted = next && (await submitReady(deps, transaction, next).catch(afterSubmission));
    if (submitted) return authorize(deps, submitted, next);
  }
  return decide(deps, transaction, answer, ready);
}

/**
 * Commits the submission of an accepted tap to this switch: 3 -> 4, or 4 -> 3 -> 4 if the previous switch received
 * no byte.
 *
 * @returns undefined, with the submission withdrawn, if another process has decided, `answer_by` leaves no full deadline, or the
 * PIN block was submitted before
 */
export async function submitReady(
  deps: Pick<TransactionDependencies, 'clock' | 'newId' | 'observer' | 'store'>,
  before: Transaction,
  { submission, withdraw, uses }: ReadySubmission,
): Promise<Transaction | undefined> {
  const overdueJob = deps.newId();
  const { ReadyToSubmitToPaymentProcessor: ready, SubmittedToPaymentProcessor: status } = Status;
  const transaction: Transaction = { ...before, ...submission, overdueJob, status };
  const path: StatusId[] = before.status === ready ? [status] : [ready, status];
  const { acquirerId, id, attempt } = transaction;
  const startAfterSeconds = (submission.deadlineSeconds ?? 0) + OVERDUE_AFTER_SECONDS;
  try {
    const next: NewSubmission = {
      transaction,
      fromStatus: before.status,
      auditEntries: moves(before.status, path, deps.clock.nowMs()),
      enqueue: [{ queue: 'overdue', id: overdueJob, data: { acquirerId, id, attempt }, startAfterSeconds }],
      remove: before.overdueJob ? [before.overdueJob] : [],
      uses,
    };
    const isCommitted = await deps.observer.commit('submit', next, () => deps.store.submit(next));
    if (isCommitted) return transaction;
  } catch (error) {
    withdraw(isUnstored(error));
    throw error;
  }
  withdraw(true);
  return undefined;
}

async function decide(
  deps: AuthorizeDependencies,
  transaction: Transaction,
  answer: SwitchAnswer<PurchaseAnswer>,
  ready: ReadySubmission,
): Promise<Transaction> {
  const nowMs = deps.clock.nowMs();
  const reverseJob = deps.newId();
  const atSwitch = decisionOf(transaction, eventOf(answer, ready), reverseJob, nowMs);
  const decision = withWebhook(deps, transaction, withCompletion(transaction, atSwitch, ready), nowMs);
  const rememberOriginal = () => deps.originals.remember(transaction.id, answer.connectionId);
  // Before the commit, because its job may be picked up at once.
  if (decision.result.reversalState === ReversalState.owed) rememberOriginal();
  const guarded = { transaction, decision, isOverdue: false, nowMs };
  const isCommitted = await deps.observer
    .commit('decision', guarded, () => deps.store.recordDecision(guarded))
    .catch(afterSubmission);
  deps.wakeups.announce(transaction);
  const { status, result, pin } = decision;
  // Only the row contains the time until which a PIN is awaited.
  if (isCommitted && isAwaitingPin(pin)) return awaitOutcome(deps, transaction);
  const decided = isCommitted
    ? { ...transaction, ...result, ...pin, status, updatedAtMs: nowMs }
    : await awaitOutcome(deps, transaction);
  if (decided.reversalState === ReversalState.none) return decided;

  // If another process decided, this process still sends the first reversal, because only this process has the
  // connection.
  rememberOriginal();
  if (!isCommitted && answer.kind === 'answered') await recordLate(deps, decided, lateFactsOf(answer.value.outcome));
  const { acquirerId, id, attempt } = decided;
  deps.reverseAhead({ acquirerId, id, attempt, reversalAttempt: 1 }, isCommitted ? reverseJob : undefined);
  return decided;
}

function decisionOf(transaction: Transaction, event: SwitchEvent, reverseJob: string, nowMs: number): Decision {
  const decision = decideOutcome(transaction, event, nowMs);
  const enqueue = decision.enqueue.map((job) => (job.queue === 'reverse' ? { ...job, id: reverseJob } : job));
  return { ...decision, enqueue };
}

/** If an approval is posted only after a completion, the job that sends the completion is committed with it. */
function withCompletion(transaction: Transaction, decision: Decision, { request }: ReadySubmission): Decision {
  if (!request.wantsCompletion || decision.result.disposition !== Disposition.Approved) return decision;
  return { ...decision, enqueue: [...decision.enqueue, completionJob(transaction)] };
}

/** The database failed after the submission. The tap itself is stored, and its `overdue` job will decide. */
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
