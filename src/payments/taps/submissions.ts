import assert from 'node:assert/strict';
import { isUnstored, StoreUnavailable } from '../../basics/errors.ts';
import { decideOutcome, type SwitchEvent } from '../decisions/decide-outcome.ts';
import { withLease, withWebhook } from '../decisions/webhook-job.ts';
import type { Decision } from '../model/decision.ts';
import { Disposition } from '../model/disposition.ts';
import { isAwaitingPin } from '../model/pin.ts';
import { moves, Status, type StatusId } from '../model/status.ts';
import { OVERDUE_AFTER_SECONDS } from '../model/time-limits.ts';
import { ReversalState, type Transaction } from '../model/transaction.ts';
import type { NewSubmission } from '../ports/store-ports.ts';
import type { PurchaseResponse, SwitchResponse } from '../ports/switch-ports.ts';
import type { TransactionDependencies } from '../ports/transaction-dependencies.ts';
import { type LateResponses, lateFactsOf } from '../reversals/late-responses.ts';
import type { Outcomes } from '../reversals/outcomes.ts';
import { completionJob } from './completions.ts';
import type { ReadySubmission } from './prepare-submission.ts';

/** Sends accepted transactions to their switches. */
export class Submissions {
  readonly #deps: TransactionDependencies;
  readonly #outcomes: Outcomes;
  readonly #lateResponses: LateResponses;

  constructor(deps: TransactionDependencies, outcomes: Outcomes, lateResponses: LateResponses) {
    this.#deps = deps;
    this.#outcomes = outcomes;
    this.#lateResponses = lateResponses;
  }

  /**
   * Sends a committed submission and commits its result. If it is proven that nothing was written, the next processor
   * is tried. If another process has committed first, the caller returns the stored result.
   */
  async authorize(transaction: Transaction, ready: ReadySubmission): Promise<Transaction> {
    assert(
      transaction.status === Status.SubmittedToPaymentProcessor,
      'a request is sent after its submission is committed',
    );
    const response = await this.#deps.observer.roundTrip('authorization', ready.processorType, transaction, () =>
      ready.slot.authorize(ready.request, ready, transaction),
    );
    if (response.kind === 'failed' && !response.written) {
      const next = await ready.next();
      const submitted = next && (await this.submit(transaction, next).catch(afterSubmission));
      if (submitted) return this.authorize(submitted, next);
    }
    return this.#decide(transaction, response, ready);
  }

  /**
   * Commits the submission of an accepted tap to this switch: 3 -> 4, or 4 -> 3 -> 4 if the previous switch received
   * no byte.
   *
   * @returns undefined, with the submission withdrawn, if another process has decided, `respond_by` leaves no full
   * deadline, or the PIN block was submitted before
   */
  async submit(before: Transaction, { submission, withdraw, uses }: ReadySubmission): Promise<Transaction | undefined> {
    const { ReadyToSubmitToPaymentProcessor: ready, SubmittedToPaymentProcessor: status } = Status;
    const transaction: Transaction = { ...before, ...submission, status };
    const path: StatusId[] = before.status === ready ? [status] : [ready, status];
    try {
      const next: NewSubmission = {
        transaction,
        fromStatus: before.status,
        auditEntries: moves(before.status, path, this.#deps.clock.nowMs()),
        overdueSeconds: (submission.deadlineSeconds ?? 0) + OVERDUE_AFTER_SECONDS,
        uses,
      };
      const isCommitted = await this.#deps.observer.commit('submit', next, () => this.#deps.store.submit(next));
      if (isCommitted) return transaction;
    } catch (error) {
      withdraw(isUnstored(error));
      throw error;
    }
    withdraw(true);
    return undefined;
  }

  async #decide(
    transaction: Transaction,
    response: SwitchResponse<PurchaseResponse>,
    ready: ReadySubmission,
  ): Promise<Transaction> {
    const nowMs = this.#deps.clock.nowMs();
    const reverseJob = this.#deps.newId();
    const atSwitch = decisionOf(transaction, eventOf(response, ready), reverseJob, nowMs);
    const reported = withWebhook(this.#deps, transaction, withCompletion(transaction, atSwitch, ready), nowMs);
    const decision = withLease(this.#deps, reported);
    const rememberOriginal = () => this.#deps.originals.remember(transaction.id, response.connectionId);
    // Before the commit, because its job may be picked up at once.
    if (decision.result.reversalState === ReversalState.owed) rememberOriginal();
    const guarded = { transaction, decision, isOverdue: false, nowMs };
    const isCommitted = await this.#deps.observer
      .commit('decision', guarded, () => this.#deps.store.recordDecision(guarded))
      .catch(afterSubmission);
    this.#deps.wakeups.announce(transaction);
    const { status, result, pin } = decision;
    // Only the row contains the time until which a PIN is awaited.
    if (isCommitted && isAwaitingPin(pin)) return this.#outcomes.await(transaction);
    const decided = isCommitted
      ? { ...transaction, ...result, ...pin, status, updatedAtMs: nowMs }
      : await this.#outcomes.await(transaction);
    if (isCommitted) this.#deps.promptWebhooks?.deliver(decided, decision.enqueue);
    if (decided.reversalState === ReversalState.none) return decided;

    // If another process decided, this process still sends the first reversal, because only this process has the
    // connection.
    rememberOriginal();
    if (!isCommitted && response.kind === 'responded')
      await this.#lateResponses.record(decided, lateFactsOf(response.value.outcome));
    const { acquirerId, id, attempt } = decided;
    this.#deps.reverseAhead({ acquirerId, id, attempt, reversalAttempt: 1 }, isCommitted ? reverseJob : undefined);
    return decided;
  }
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

/** The database failed after the submission. The tap itself is stored, and decided when it is overdue. */
function afterSubmission(cause: unknown): never {
  throw cause instanceof StoreUnavailable ? new StoreUnavailable(true, { cause }) : cause;
}

function eventOf(response: SwitchResponse<PurchaseResponse>, { pinWait }: ReadySubmission): SwitchEvent {
  switch (response.kind) {
    case 'responded':
      return { kind: 'responded', ...response.value, pinWait };
    case 'garbled':
      return { kind: 'garbled' };
    case 'failed':
      return { kind: response.written ? 'noResponse' : 'unsent' };
  }
}
