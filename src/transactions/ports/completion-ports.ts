import type { Transaction } from '../model/transaction.ts';

/** What completions ask of the database. A void and a completion of one sale must not pass each other on their way. */
export interface CompletionStore {
  /**
   * Takes the right to send a completion, for so many seconds: a void that is asked for meanwhile waits for as long. False when
   * the sale is being taken back already, or somebody else has the right.
   */
  begin(sale: Transaction, seconds: number): Promise<boolean>;
  /** Nothing of it is on its way any more: gives the right back. */
  end(sale: Transaction): Promise<void>;
  /** No switch has taken it in all that time: it is for a person. */
  giveUp(sale: Transaction, nowMs: number): Promise<void>;
}
