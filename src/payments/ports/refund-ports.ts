import type { StorableJob } from '../model/jobs.ts';
import type { Transaction } from '../model/transaction.ts';
import type { NewAttempt, PhoneResponseRecord } from './store-ports.ts';

/** A void to be started: its own row, and the job of the first attempt. */
export interface NewVoid {
  readonly original: Transaction;
  readonly attempt: NewAttempt;
  readonly reverseJob: StorableJob;
  readonly nowMs: number;
}

/** What is in the way of a refund or void, besides the state of the sale itself. */
export type ReturnObstacle = 'inReview' | 'noProcessor' | 'otherSwitch';

/** The database operations of refunds, voids and acknowledgements that taps do not need. */
export interface RefundStore {
  /**
   * Stores a refund and reserves its amount, or does neither. `exists`: the merchant has used the reference before.
   * `refused`: the amount exceeds the refundable balance of the sale, or the sale is blocked or no longer approved.
   */
  reserve(refund: NewAttempt): Promise<'inserted' | 'exists' | 'refused'>;
  /**
   * Whether the switch has closed the business day of a sale. For a switch that announces no business day, the
   * time zone that the sale was stored with decides. `timeZone`: the merchant's present one, for sales without.
   */
  isSettled(sale: Transaction, timeZone: string): Promise<boolean>;
  /**
   * Why nothing of a sale can be returned now. `inReview`: the sale, a refund or a void of it is in review
   * (model/review.ts). `noProcessor`: the processor that approved the sale was removed.
   * `otherSwitch`: it now leads to another switch (model/switch-revision.ts).
   */
  findObstacle(sale: Transaction): Promise<ReturnObstacle | undefined>;
  /** False if the sale is not approved or is blocked, or another void or refund was faster. */
  startVoid(wanted: NewVoid): Promise<boolean>;
  /** The row of the last void of a sale. */
  findVoid(sale: Transaction): Promise<Transaction | undefined>;
  /** False if the transaction has changed since it was read. */
  acknowledge(record: PhoneResponseRecord): Promise<boolean>;
}
