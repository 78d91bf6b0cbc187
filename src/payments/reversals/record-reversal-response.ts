import { SealError, StoreUnavailable } from '../../basics/errors.ts';
import type { ReversalResponse } from '../../kits/processor-kit/processor.ts';
import { REVERSAL_SCHEDULE } from '../../kits/processor-kit/profile.ts';
import { stepOfResponse } from '../decisions/reversal-responses.ts';
import { exhaustedStep, reviewStep } from '../decisions/reversal-steps.ts';
import { type EventPorts, voidEventJobs, webhookJobs } from '../decisions/webhook-job.ts';
import { Disposition } from '../model/disposition.ts';
import { type Transaction, VoidState } from '../model/transaction.ts';
import type { ReversalKey, ReversalStep, VoidRow } from '../ports/store-ports.ts';
import type { Switch } from '../ports/switch-ports.ts';
import type { ReviewReason, TransactionDependencies } from '../ports/transaction-dependencies.ts';

interface Fate {
  readonly voidRow: VoidRow;
  readonly event?: 'failed' | 'needsReview' | 'disputed' | undefined;
}

function fateOf({ id, disposition, needsReview }: Transaction, { to }: ReversalStep, isInDoubt: boolean): Fate {
  if (to.voidState === VoidState.done) return { voidRow: { id, disposition: Disposition.Approved, needsReview } };
  if (to.voidState === null) {
    return { voidRow: { id, disposition: Disposition.Declined, needsReview: true }, event: 'failed' };
  }
  const voidRow = { id, disposition, needsReview: isInDoubt || needsReview };
  if (to.voidState === VoidState.disputed) return { voidRow, event: 'disputed' };
  return { voidRow, event: needsReview ? undefined : 'needsReview' };
}

/** Longer than a database takes to restart or to be replaced, shorter than the lease of the job that waits here. */
const UNREAD_FOR_MS = 30_000;
const READ_AGAIN_MS = 1_000;
/** Before each retry another process may have recorded another response, or sent the next attempt. */
const MAX_TRIES = 3;

/** Records the steps of reversals, and switch responses to them. */
export class ReversalSteps {
  readonly #deps: TransactionDependencies;

  constructor(deps: TransactionDependencies) {
    this.#deps = deps;
  }

  /**
   * Records a switch response to an attempt of a reversal, at any time and on any connection, and its effects.
   *
   * @returns `unknown` if the reversal changed during every try: then the response must be processed again
   */
  async recordResponse(key: ReversalKey, response: ReversalResponse): Promise<'late' | 'duplicate' | 'unknown'> {
    for (let tries = 0; tries < MAX_TRIES; tries++) {
      const transaction = await this.#read(key, () => this.#deps.store.findRequest(key));
      if (!transaction) return 'unknown';
      const facts = await this.#read(key, () => this.#deps.store.findOriginalFacts(transaction));
      const nowMs = this.#deps.clock.nowMs();
      const step = stepOfResponse({ transaction, facts, sentAtMs: key.sentAtMs, response, nowMs });
      if (!step) return 'duplicate';
      if (await this.commit(step)) return 'late';
    }
    return 'unknown';
  }

  /**
   * Retries the read while the database is unavailable, because the switch does not repeat the response before the
   * next attempt.
   */
  async #read<T>(key: ReversalKey, find: () => Promise<T>): Promise<T> {
    const giveUpAtMs = this.#deps.clock.monotonicMs() + UNREAD_FOR_MS;
    for (;;) {
      try {
        return await find();
      } catch (error) {
        if (!(error instanceof StoreUnavailable) || this.#deps.clock.monotonicMs() > giveUpAtMs) throw error;
      }
      await this.#deps.wakeups.moved(key, READ_AGAIN_MS);
    }
  }

  /** Commits a step with its effects: the row of the void, the webhook, the waiting requests, and the person to alert. */
  async commit(decided: ReversalStep, fault?: string): Promise<boolean> {
    const step = await this.#withVoidRow(withWebhook(this.#deps, decided));
    if (!(await this.#deps.observer.commit('stepReversal', step, () => this.#deps.store.stepReversal(step))))
      return false;
    if (step.to.disposition !== step.transaction.disposition) this.#deps.wakeups.announce(step.transaction);
    if (needsPerson(step)) this.#deps.alarms.needsReview(step.transaction, reasonOf(step, fault), fault);
    return true;
  }

  /**
   * Adds the effects of a step of a sale's reversal: on the row of its void, and for the integrator who received 202.
   *
   * - done: Approved; the integrator receives an event of the sale, which is Voided
   * - refused: Declined, in review; `void.failed`
   * - in doubt: in review, with an unchanged disposition; `void.needsReview`, once
   *
   * @returns the step with all of these effects, to be committed together
   */
  async #withVoidRow(step: ReversalStep): Promise<ReversalStep> {
    const { transaction, to, auditEntries, nowMs } = step;
    const isOfVoid = transaction.voidState === VoidState.asked || to.voidState === VoidState.disputed;
    const isInDoubt = auditEntries.some((each) => 'reversal' in each && each.reversal === 'needsReview');
    if (!isOfVoid || (to.voidState === transaction.voidState && !isInDoubt)) return step;
    const row = await this.#deps.refunds.findVoid(transaction);
    if (!row) return step;
    const { voidRow, event } = fateOf(row, step, isInDoubt);
    const enqueue = event ? voidEventJobs(this.#deps, row, event, nowMs) : [];
    return { ...step, voidRow, enqueue: [...step.enqueue, ...enqueue] };
  }

  /**
   * Decides what happens to a reversal whose attempt failed with an error before it was sent.
   *
   * - If its card data were erased, or its sealed bytes were changed, no attempt can ever be built. The transaction
   *   needs review at once, and the job ends.
   * - If the sealing key no longer exists, the transaction needs review at once, because only a person can restore the
   *   key. The job is retried, so that the reversal is sent when the key is restored.
   * - Any other error (an exception of a processor type, for example) may be temporary. The job is retried, and the
   *   transaction needs review after the time for attempts is over.
   *
   * @throws the error itself if the job has to be retried, so that it is logged
   */
  async reviewUnsendable(transaction: Transaction, target: Switch | undefined, error: unknown): Promise<'done'> {
    if (error instanceof StoreUnavailable) throw error;
    const sealFault = error instanceof SealError ? error.code : undefined;
    const nowMs = this.#deps.clock.nowMs();
    const step = sealFault
      ? reviewStep(transaction, nowMs)
      : exhaustedStep(transaction, target?.profile.reversal ?? REVERSAL_SCHEDULE, nowMs);
    if (step) await this.commit(step, sealFault ?? (error instanceof Error ? error.name : 'unknown'));
    if (sealFault === 'NOT_KEPT' || sealFault === 'SEAL_BROKEN') return 'done';
    throw error;
  }

  /**
   * The processor now leads to another switch than the one that the transaction was sent to. That switch has not seen the
   * transaction, and might acknowledge its reversal all the same. A person must ask the former switch.
   */
  async reviewMoved(transaction: Transaction): Promise<'done' | { readonly againAfterSeconds: number }> {
    const step = reviewStep(transaction, this.#deps.clock.nowMs());
    const isReviewed = step === undefined || (await this.commit(step, SWITCH_CHANGED));
    return isReviewed ? 'done' : { againAfterSeconds: 1 };
  }
}

/** A transaction that was Voided before, and reversed again after a late approval, was already reported. */
function withWebhook(ports: EventPorts, step: ReversalStep): ReversalStep {
  const { transaction, to, nowMs } = step;
  if (to.disposition === transaction.disposition) return step;
  const after: Transaction = { ...transaction, ...to };
  return { ...step, enqueue: [...step.enqueue, ...webhookJobs(ports, transaction, after, nowMs)] };
}

/** The last attempt may still be acknowledged: if it is not, its sender alerts a person. */
function needsPerson({ transaction, to, auditEntries }: ReversalStep): boolean {
  const names = auditEntries.map((each) => ('reversal' in each ? each.reversal : undefined));
  const isNews = names.includes('needsReview') || (to.needsReview && !transaction.needsReview);
  return isNews && !names.includes('sent');
}

function reasonOf({ record }: ReversalStep, fault: string | undefined): ReviewReason {
  if (fault !== undefined) return 'UNSENDABLE';
  return record?.kind === 'responded' ? 'CONTRADICTORY' : 'UNACKNOWLEDGED';
}

/** The fault of a message whose switch is no longer behind its processor. */
export const SWITCH_CHANGED = 'SWITCH_CHANGED';
