import { Disposition } from '../../../src/payments/model/disposition.ts';
import { TransactionType } from '../../../src/payments/model/transaction.ts';
import { faultOfTrail } from '../../../src/tools/ledger/trail-check.ts';
import type { Row } from '../memory-rows.ts';
import type { Books } from './books.ts';
import { isInReview } from './rules-of-money.ts';

/** Everything has ended, or needs review. */
export function faultsOfRest(books: Books, { transaction, trail }: Row): string[] {
  const { disposition, status, type, originalId } = transaction;
  const faults: string[] = [];
  const wrong = faultOfTrail(trail, status);
  if (wrong !== undefined) faults.push(wrong);
  const about = type === TransactionType.Void ? books.rows.get(originalId!)!.transaction : transaction;
  const isOpen = disposition === null || disposition === Disposition.Indeterminate;
  if (isOpen && !isInReview(books, about)) faults.push('has no end, and is not in review');
  return faults;
}
