import { Disposition, type DispositionId } from './disposition.ts';
import { OPEN_REVERSAL_STATES, type Transaction } from './transaction.ts';

/**
 * What a review blocks. A transaction in review has an amount of unknown fate. Until a person has resolved it, no money
 * moves that depends on that amount:
 *
 * - its sale is neither refunded nor voided, whether the sale itself, a refund or a void of it is in review
 *   (`isBlocked`)
 * - a refund keeps its reservation on the sale, and a tap keeps its link and its reference (`keepsAmount`)
 * - no other attempt follows it under its reference, and none with a PIN (`isInDoubt`)
 *
 * These are the only statements of the rule for decisions; store/transactions/transaction-columns.ts has the same for SQL.
 */

/** Dispositions of a transaction that took no money, or returned it. */
export const RELEASING_DISPOSITIONS: readonly DispositionId[] = [
  Disposition.Declined,
  Disposition.DeclinedOffline,
  Disposition.UnableToGoOnline,
  Disposition.Voided,
];

type Doubt = Pick<Transaction, 'needsReview' | 'reversalState'>;

/** Whether the switch may hold an amount that the disposition does not show: in review, or still being reversed. */
export function isInDoubt({ needsReview, reversalState }: Doubt): boolean {
  return needsReview || OPEN_REVERSAL_STATES.includes(reversalState);
}

/** Whether the amount of a tap or refund was moved, or may have been, or may still be. */
export function keepsAmount({ disposition, ...doubt }: Doubt & Pick<Transaction, 'disposition'>): boolean {
  return disposition === null || !RELEASING_DISPOSITIONS.includes(disposition) || isInDoubt(doubt);
}

/** Whether a sale must not be refunded or voided now. `related`: its refunds and voids. */
export function isBlocked(
  sale: Pick<Transaction, 'needsReview'>,
  related: readonly Pick<Transaction, 'needsReview'>[],
): boolean {
  return sale.needsReview || related.some(({ needsReview }) => needsReview);
}
