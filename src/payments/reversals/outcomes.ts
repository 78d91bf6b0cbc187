import { StoreUnavailable } from '../../basics/errors.ts';
import { wasUnderWay } from '../decisions/after-restore.ts';
import { decideOutcome, type SwitchEvent } from '../decisions/decide-outcome.ts';
import { withWebhook } from '../decisions/webhook-job.ts';
import { hasResponse } from '../model/pin.ts';
import { moves, Status, type StatusId } from '../model/status.ts';
import { LOCAL_RESPONSE_SECONDS, OUTCOME_GRACE_SECONDS, RESPONSE_SLACK_SECONDS } from '../model/time-limits.ts';
import type { Transaction, TransactionKey } from '../model/transaction.ts';
import type { PhoneResponseRecord } from '../ports/store-ports.ts';
import type { TransactionDependencies } from '../ports/transaction-dependencies.ts';

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

/** An outcome may still be committed, by the clock of the database: look again when its grace has surely ended. */
const NOT_YET_SECONDS = 1;

/** Outcomes that no switch response to a waiting request decides, and whether the phone got its response. */
export class Outcomes {
  readonly #deps: TransactionDependencies;

  constructor(deps: TransactionDependencies) {
    this.#deps = deps;
  }

  /**
   * Waits for an outcome, or a request for a PIN, that another actor commits: a worker, which may find it overdue, or the same
   * request in another process. The result always comes from the row. After the last moment the caller makes the
   * transition itself; it never invents an outcome.
   *
   * @throws StoreUnavailable, `mayBeStored`, if the row does not exist, cannot be read for a long time, or stays
   * undecided
   */
  async await(transaction: Transaction): Promise<Transaction> {
    const deadlineSeconds = transaction.deadlineSeconds ?? this.#deps.longestDeadlineSeconds(transaction.acquirerId);
    const lastMomentAtMs =
      this.#deps.clock.monotonicMs() + (deadlineSeconds + RESPONSE_SLACK_SECONDS + OUTCOME_GRACE_SECONDS) * 1000;
    let readAtMs = this.#deps.clock.monotonicMs();
    for (;;) {
      const current = await this.#lookOrDecide(transaction, lastMomentAtMs).catch((cause) => {
        if (!(cause instanceof StoreUnavailable)) throw cause;
        if (this.#deps.clock.monotonicMs() - readAtMs >= UNREAD_FOR_MS) throw new StoreUnavailable(true, { cause });
        return 'unread' as const;
      });
      if (current === undefined) throw new StoreUnavailable(true);
      if (current !== 'unread') {
        if (hasResponse(current)) return current;
        readAtMs = this.#deps.clock.monotonicMs();
      }
      const leftMs = lastMomentAtMs - this.#deps.clock.monotonicMs();
      if (leftMs <= -DECIDED_WITHIN_MS) throw new StoreUnavailable(true);
      const lookAgainMs = leftMs > 0 ? Math.min(leftMs, LOOK_AGAIN_MS) : LOOK_AGAIN_MS;
      await this.#deps.observer.wait(() => this.#deps.wakeups.moved(transaction, lookAgainMs));
    }
  }

  /** The row as stored; after the last moment, the row after the decision of this request. */
  async #lookOrDecide(transaction: Transaction, lastMomentAtMs: number): Promise<Transaction | undefined> {
    const current = await this.#deps.store.find(transaction);
    if (!current || hasResponse(current) || this.#deps.clock.monotonicMs() < lastMomentAtMs) return current;
    await this.decideOverdue(current);
    return this.#deps.store.find(transaction);
  }

  /**
   * The attempt that a worker was asked to submit; undefined once it was submitted or has an outcome. After a restore that
   * may have lost its outcome, it gets one here.
   */
  async findUnsubmitted(asked: TransactionKey & { readonly attempt: number }): Promise<Transaction | undefined> {
    const transaction = await this.#deps.store.find(asked);
    if (transaction?.attempt !== asked.attempt || hasResponse(transaction)) return undefined;
    if (transaction.status !== Status.ReadyToSubmitToPaymentProcessor) return undefined;
    if (!wasUnderWay(this.#deps, transaction, this.#deps.clock.nowMs())) return transaction;
    await this.decide(transaction, { kind: 'lost' });
    return undefined;
  }

  /** Nothing was or will be written, unless a restored database has lost that: the phone is notified at once. */
  giveUp(transaction: Transaction): Promise<'done'> {
    const isLost = wasUnderWay(this.#deps, transaction, this.#deps.clock.nowMs());
    return this.decide(transaction, { kind: isLost ? 'lost' : 'unsent' });
  }

  async decide(transaction: Transaction, event: SwitchEvent): Promise<'done'> {
    const nowMs = this.#deps.clock.nowMs();
    const decision = withWebhook(this.#deps, transaction, decideOutcome(transaction, event, nowMs), nowMs);
    const guarded = { transaction, decision, isOverdue: true, nowMs };
    await this.#deps.observer.commit('decision', guarded, () => this.#deps.store.recordDecision(guarded));
    this.#deps.wakeups.announce(transaction);
    return 'done';
  }

  /**
   * Moves a transaction whose last moment has passed to a status in which it may rest.
   *
   * - 4, no outcome: 5 and Indeterminate, a reversal is required
   * - 1 or 3, no outcome: UnableToGoOnline, because nothing was ever written
   * - 1, 3 or 4, no outcome, after a restore that may have lost it: Indeterminate, and a person must resolve it
   * - 1, 3, 5, 6, 7 with an outcome or a request for a PIN that no phone received: 9 FailedToRespondToPhone
   *
   * @returns `rests`, or when to look again
   */
  async decideOverdue(transaction: Transaction): Promise<'rests' | { readonly againAfterSeconds: number }> {
    if (!isWithoutResponse(transaction.status)) return 'rests';
    if (!hasResponse(transaction)) return this.#decideWithoutResponse(transaction);
    await this.#deps.store.recordOverdueResponse(this.#responseRecord(transaction, false));
    return 'rests';
  }

  async #decideWithoutResponse(transaction: Transaction): Promise<{ readonly againAfterSeconds: number }> {
    const wasSubmitted = transaction.status === Status.SubmittedToPaymentProcessor;
    const nowMs = this.#deps.clock.nowMs();
    const isLost = wasUnderWay(this.#deps, transaction, nowMs);
    const kind = isLost ? 'lost' : wasSubmitted ? 'noResponse' : 'unsent';
    const outcome = decideOutcome(transaction, { kind }, nowMs);
    const decision = withWebhook(this.#deps, transaction, outcome, nowMs);
    const guarded = { transaction, decision, isOverdue: true, nowMs };
    const isCommitted = await this.#deps.observer.commit('decision', guarded, () =>
      this.#deps.store.recordDecision(guarded),
    );
    if (!isCommitted) return { againAfterSeconds: NOT_YET_SECONDS };
    this.#deps.wakeups.announce(transaction);
    // The phone may still wait for its response.
    return { againAfterSeconds: LOCAL_RESPONSE_SECONDS };
  }

  /**
   * Records that the response was sent to the phone, or could not be. A repeated request that finds this recorded
   * changes nothing.
   */
  recordResponse(transaction: Transaction, isFlushed: boolean): void {
    const mayMove =
      isWithoutResponse(transaction.status) || (transaction.status === Status.FailedToRespondToPhone && isFlushed);
    if (mayMove) this.#deps.store.recordResponse(this.#responseRecord(transaction, isFlushed));
  }

  /** The record that a phone received its response (8) or disconnected (9). */
  #responseRecord(transaction: Transaction, isFlushed: boolean): PhoneResponseRecord {
    const { acquirerId, id, attempt, status: fromStatus } = transaction;
    const status = isFlushed ? Status.RespondedToPhone : Status.FailedToRespondToPhone;
    return {
      acquirerId,
      id,
      attempt,
      fromStatus,
      status,
      auditEntries: moves(fromStatus, [status], this.#deps.clock.nowMs()),
    };
  }
}

const NO_RESPONSE: readonly StatusId[] = [1, 3, 4, 5, 6, 7];

function isWithoutResponse(status: StatusId): boolean {
  return NO_RESPONSE.includes(status);
}
