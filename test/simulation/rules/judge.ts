import { type Transaction, TransactionType } from '../../../src/payments/model/transaction.ts';
import type { Books } from './books.ts';
import { faultsOfCompletion, faultsOfMoney, faultsOfRefunds } from './rules-of-money.ts';
import { faultsOfOrders } from './rules-of-orders.ts';
import { faultsOfRequests } from './rules-of-requests.ts';
import { faultsOfRest } from './rules-of-rest.ts';
import { faultsOfReviews, faultsOfTelling } from './rules-of-telling.ts';

/**
 * The rules for the books when nothing is left to do, independent of how the gateway decides. Returns the violations.
 */
export function faultsOf(books: Books): string[] {
  const ofTransactions = [...books.rows.values()].flatMap((row) => {
    const { transaction } = row;
    const isVoid = transaction.type === TransactionType.Void;
    const usesReview = row.usesReview ? ['moves money that depends on an amount in review'] : [];
    const found = [...usesReview, ...faultsOfRest(books, row), ...(isVoid ? [] : faultsOfPurchase(books, transaction))];
    return found.map((fault) => `${transaction.id} ${fault}`);
  });
  return [...ofTransactions, ...faultsOfOrders(books), ...faultsOfRequests(books)];
}

function faultsOfPurchase(books: Books, transaction: Transaction): string[] {
  return [
    ...faultsOfMoney(books, transaction),
    ...faultsOfCompletion(books, transaction),
    ...faultsOfRefunds(books, transaction),
    ...faultsOfTelling(books, transaction),
    ...faultsOfReviews(books, transaction),
  ];
}
