import type { Transaction } from '../model/transaction.ts';

/** The database operations of completions. A void and a completion of one sale must not overtake each other. */
export interface CompletionStore {
  /**
   * Acquires the right to send a completion for this many seconds; a void requested meanwhile waits as long. False
   * if the sale is being voided or reversed, or another process holds the right.
   */
  begin(sale: Transaction, seconds: number): Promise<boolean>;
  /** Releases the right: no part of the completion is in transit any longer. */
  end(sale: Transaction): Promise<void>;
  /** No switch accepted the completion within the time limit: a person must resolve it. */
  giveUp(sale: Transaction, nowMs: number): Promise<void>;
}
