import type { JobRequest } from '../model/jobs.ts';
import type { Transaction } from '../model/transaction.ts';
import type { NewAttempt, PhoneResponseRecord } from './store-ports.ts';

/** A void to be started: the row that tells of it, and the first attempt's job. */
export interface NewVoid {
  readonly original: Transaction;
  readonly attempt: NewAttempt;
  readonly reverseJob: JobRequest;
  readonly nowMs: number;
}

/** What refunds, voids and acknowledgements ask of the database besides what taps do. */
export interface RefundStore {
  /**
   * Stores a refund and reserves its amount, or neither. `exists`: the merchant has used the reference before; `refused`: the
   * sale has not that much left, or is not approved any more.
   */
  reserve(refund: NewAttempt): Promise<'inserted' | 'exists' | 'refused'>;
  /** Whether the switch has closed the business day of a sale. `timeZone`: the merchant's, for switches that announce none. */
  isSettled(sale: Transaction, timeZone: string): Promise<boolean>;
  /** False when the sale is not approved, or somebody was faster with a void or a refund. */
  startVoid(wanted: NewVoid): Promise<boolean>;
  /** The row that tells of a sale's last void. */
  findVoid(sale: Transaction): Promise<Transaction | undefined>;
  /** False when the transaction has moved meanwhile. */
  acknowledge(record: PhoneResponseRecord): Promise<boolean>;
}
