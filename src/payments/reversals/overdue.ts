import { decideOutcome } from '../decisions/decide-outcome.ts';
import { withWebhook } from '../decisions/webhook-job.ts';
import { hasAnswer } from '../model/pin.ts';
import { moves, Status, type StatusId } from '../model/status.ts';
import { LOCAL_ANSWER_SECONDS } from '../model/time-limits.ts';
import type { Transaction } from '../model/transaction.ts';
import type { PhoneResponseRecord } from '../ports/store-ports.ts';
import type { TransactionDependencies } from '../ports/transaction-dependencies.ts';

/** What it takes to decide an outcome that no switch response decides. */
export type OutcomeDependencies = Pick<
  TransactionDependencies,
  'clock' | 'directory' | 'longestDeadlineSeconds' | 'newId' | 'observer' | 'store' | 'wakeups'
>;

/**
 * Moves a transaction whose last moment has passed to a status in which it may rest.
 *
 * - 4, no outcome: 5 and Indeterminate, a reversal is required
 * - 1 or 3, no outcome: UnableToGoOnline, because nothing was ever written
 * - 1, 3, 5, 6, 7 with an outcome or a request for a PIN that no phone received: 9 FailedToRespondToPhone
 *
 * @returns `notYet` if an outcome may still be committed by the clock of the database
 */
export async function decideOverdue(
  deps: OutcomeDependencies,
  transaction: Transaction,
): Promise<'decided' | 'notYet'> {
  if (!hasAnswer(transaction)) return decideWithoutResponse(deps, transaction);
  if (isUnanswered(transaction.status)) await deps.store.recordOverdueAnswer(answerRecord(deps, transaction, false));
  return 'decided';
}

async function decideWithoutResponse(
  deps: OutcomeDependencies,
  transaction: Transaction,
): Promise<'decided' | 'notYet'> {
  if (!isUnanswered(transaction.status)) return 'decided';
  const wasSubmitted = transaction.status === Status.SubmittedToPaymentProcessor;
  const nowMs = deps.clock.nowMs();
  const outcome = decideOutcome(transaction, { kind: wasSubmitted ? 'unanswered' : 'unsent' }, nowMs);
  const decided = withWebhook(deps, transaction, outcome, nowMs);
  const { acquirerId, id, attempt } = transaction;
  // The phone may still wait for its response. If it does not, the successor of this job lets the row rest.
  const successor = {
    queue: 'overdue',
    data: { acquirerId, id, attempt },
    startAfterSeconds: LOCAL_ANSWER_SECONDS,
  } as const;
  const decision = { ...decided, enqueue: [...decided.enqueue, successor] };
  const guarded = { transaction, decision, isOverdue: true, nowMs };
  const isCommitted = await deps.observer.commit('decision', guarded, () => deps.store.recordDecision(guarded));
  if (isCommitted) deps.wakeups.announce(transaction);
  return isCommitted ? 'decided' : 'notYet';
}

const UNANSWERED: readonly StatusId[] = [1, 3, 4, 5, 6, 7];

function isUnanswered(status: StatusId): boolean {
  return UNANSWERED.includes(status);
}

/** The record that a phone received its response (8) or disconnected (9). */
function answerRecord(
  deps: Pick<TransactionDependencies, 'clock'>,
  transaction: Transaction,
  isFlushed: boolean,
): PhoneResponseRecord {
  const { acquirerId, id, attempt, status: fromStatus, overdueJob } = transaction;
  const status = isFlushed ? Status.RespondedToPhone : Status.FailedToRespondToPhone;
  return {
    acquirerId,
    id,
    attempt,
    fromStatus,
    status,
    overdueJob,
    auditEntries: moves(fromStatus, [status], deps.clock.nowMs()),
  };
}

/**
 * Records that the response was sent to the phone, or could not be. A repeated request that finds this recorded
 * changes nothing.
 */
export function recordAnswer(
  deps: Pick<TransactionDependencies, 'clock' | 'store'>,
  transaction: Transaction,
  isFlushed: boolean,
): void {
  const mayMove =
    isUnanswered(transaction.status) || (transaction.status === Status.FailedToRespondToPhone && isFlushed);
  if (mayMove) deps.store.recordAnswer(answerRecord(deps, transaction, isFlushed));
}
