import type { JobRequest } from '../model/decision.ts';
import type { Transaction, TransactionKey } from '../model/transaction.ts';

/**
 * The services that the domain requires from its process. Adapters implement these; the domain does not know pg,
 * sockets or fastify.
 */

export interface Clock {
  /** Milliseconds since 1970 by the clock of the database: for records, and for tokens that other processes verify. */
  nowMs(): number;
  /** Milliseconds on a monotonic clock: for deadlines. */
  monotonicMs(): number;
}

/**
 * Why a person must resolve a transaction with the acquirer. `UNACKNOWLEDGED`: the time for its reversal or
 * completion is over. `UNSENDABLE`: its reversal cannot be built. `APPROVED_AFTER_DECLINE`: the switch may have
 * booked a transaction that was reported as Declined. `CONTRADICTORY`: the switch responses to its reversal
 * contradict each other.
 */
export type ReviewReason = 'UNACKNOWLEDGED' | 'UNSENDABLE' | 'APPROVED_AFTER_DECLINE' | 'CONTRADICTORY';

/** Alerts a person. */
export interface Alarms {
  /** @param fault the error code or name if the reversal cannot be built */
  needsReview(key: TransactionKey, reason: ReviewReason, fault?: string): void;
}

/** Notifies waiting requests that a transaction changed, in this process or in another one. */
export interface Wakeups {
  /** Resolves when the transaction may have changed, or at the latest after `timeoutMs`. */
  moved(key: TransactionKey, timeoutMs: number): Promise<void>;
  announce(key: TransactionKey): void;
  /** Announces to workers that taps were handed over. */
  announceWork(): void;
}

/** Webhooks that the process that committed their outcome delivers itself, without a wait for their jobs. */
export interface PromptWebhooks {
  /** How long after the commit the job of an event starts unless a result was recorded. */
  readonly leaseSeconds: number;
  /**
   * Delivers the events of a commit.
   *
   * @param transaction as committed
   * @param jobs of the commit
   */
  deliver(transaction: Transaction, jobs: readonly JobRequest[]): void;
}
