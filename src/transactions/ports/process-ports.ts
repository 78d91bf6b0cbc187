import type { TransactionKey } from '../model/transaction.ts';

/** What the domain asks of the world. Adapters implement these; the domain knows no pg, no sockets, no fastify. */

export interface Clock {
  /** Milliseconds since 1970, as the database counts them: for records, and for tokens that other processes judge. */
  nowMs(): number;
  /** Milliseconds on a clock that only goes forward: for deadlines. */
  monotonicMs(): number;
}

/**
 * Why a person must resolve a transaction with the acquirer. `UNACKNOWLEDGED`: the time for its reversal or completion is over.
 * `UNSENDABLE`: its reversal cannot be built. `APPROVED_AFTER_DECLINE`: the switch may have booked what was told as Declined.
 * `CONTRADICTORY`: the switch's answers to its reversal contradict each other.
 */
export type ReviewReason = 'UNACKNOWLEDGED' | 'UNSENDABLE' | 'APPROVED_AFTER_DECLINE' | 'CONTRADICTORY';

/** Calls a person. */
export interface Alarms {
  /** @param fault the error code or name where the reversal cannot be built */
  needsReview(key: TransactionKey, reason: ReviewReason, fault?: string): void;
}

/** Tells who waits that a transaction moved, in this process or from another one. */
export interface Wakeups {
  /** Resolves when the transaction may have moved, or at the latest after `timeoutMs`. */
  moved(key: TransactionKey, timeoutMs: number): Promise<void>;
  announce(key: TransactionKey): void;
  /** Taps were handed over: workers should look. */
  announceWork(): void;
}
