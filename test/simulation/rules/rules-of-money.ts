import { Disposition } from '../../../src/payments/model/disposition.ts';
import { ReversalState, type Transaction, TransactionType } from '../../../src/payments/model/transaction.ts';
import type { Booking } from '../switch/ledger.ts';
import type { Books } from './books.ts';
import { approvedMinorOf, isApprovalFalse, isDenied, isRefused, wasApprovedLate } from './lies.ts';

/** Disagreements between the switch and the gateway about a purchase or a refund. */
export function faultsOfMoney(books: Books, transaction: Transaction): string[] {
  const { id, disposition } = transaction;
  const standing = books.bookings.filter(({ transactionId, state }) => transactionId === id && state === 'booked');
  const undenied = standing.filter((booking) => !isDenied(books, booking));
  if (isInReview(books, transaction)) return faultsOfReviewed(books, transaction, undenied);
  if (disposition !== Disposition.Approved)
    return undenied.length === 0 ? [] : ['stands at the switch, and is not Approved'];
  if (undenied.length > 1) return ['is booked twice'];
  if (standing.some((booking) => isOfAmount(books, transaction, booking))) return [];
  if (isApprovalFalse(books, id) || isRefused(books, id)) return [];
  return [standing.length === 0 ? 'is Approved, and does not stand at the switch' : 'is booked with another amount'];
}

/** A review excuses a difference of the amount that it names: that of each request whose reversal was given up. */
function faultsOfReviewed(
  { rows }: Books,
  { id, disposition, approvedMinor, amountMinor }: Transaction,
  booked: readonly Booking[],
): string[] {
  const { transaction, superseded } = rows.get(id)!;
  const givenUp = [transaction, ...superseded].filter((each) => each.reversalState === ReversalState.needsReview);
  const reported = disposition === Disposition.Approved ? (approvedMinor ?? amountMinor ?? 0) : 0;
  const difference = booked.reduce((sum, { bookedMinor }) => sum + bookedMinor, 0) - reported;
  return Math.abs(difference) <= (amountMinor ?? 0) * Math.max(givenUp.length, 1)
    ? []
    : ['is booked with more than its review names'];
}

function isOfAmount({ statements }: Books, { approvedMinor }: Transaction, { key, bookedMinor }: Booking): boolean {
  const isSaid = statements.some(
    (said) => said.key === key && said.meaning === 'approved' && said.amountMinor === approvedMinor,
  );
  return approvedMinor === bookedMinor || isSaid;
}

/** An approval that requires a completion is posted, according to the switch. */
export function faultsOfCompletion(books: Books, transaction: Transaction): string[] {
  const { id, type, disposition } = transaction;
  const isSale = type !== TransactionType.Refund && disposition === Disposition.Approved;
  if (!books.wantsCompletion || !isSale || isInReview(books, transaction)) return [];
  const isTaken = books.statements.some((said) => said.transactionId === id && said.meaning === 'posted');
  return isTaken ? [] : ['is Approved, and was never posted'];
}

/** Refunds never exceed the amount that was taken and is still booked. */
export function faultsOfRefunds(books: Books, sale: Transaction): string[] {
  if (sale.type === TransactionType.Refund || sale.type === TransactionType.Void) return [];
  const refunds = [...books.rows.values()]
    .map(({ transaction }) => transaction)
    .filter(({ type, originalId }) => type === TransactionType.Refund && originalId === sale.id);
  if (isApprovalFalse(books, sale.id)) return [];
  const standing = books.bookings.filter(({ state }) => state === 'booked');
  const asApproved = standing.map((booking) => ({ ...booking, bookedMinor: approvedMinorOf(books, booking) }));
  const taken = sumOf(asApproved, [sale.id]);
  const undenied = standing.filter((booking) => !isDenied(books, booking) && !wasFair(books, sale, booking));
  const given = sumOf(
    undenied,
    refunds.map(({ id }) => id),
  );
  // Its reservation was released by the decline that the switch has contradicted since.
  const doubtful = [sale, ...refunds].filter((each) => isInReview(books, each) && wasApprovedLate(books, each.id));
  const excused = doubtful.reduce((sum, { amountMinor }) => sum + (amountMinor ?? 0), 0);
  return given <= taken + excused ? [] : [`${given} was refunded on ${taken} that is booked`];
}

/** When the refund was sent, the switch had refused to void the sale. */
function wasFair(books: Books, sale: Transaction, refund: Booking): boolean {
  const left = books.requests.find(({ key, kind }) => key === refund.key && kind === 'refund');
  return left !== undefined && isRefused(books, sale.id, left.writtenAtMs);
}

function sumOf(bookings: readonly Booking[], ids: readonly string[]): number {
  return bookings
    .filter(({ transactionId }) => ids.includes(transactionId))
    .reduce((sum, { bookedMinor }) => sum + bookedMinor, 0);
}

/** It needs review, or the transaction that was to reverse it does. */
export function isInReview({ rows }: Books, { id }: Transaction): boolean {
  return [...rows.values()].some(({ transaction }) => {
    const isAboutIt =
      transaction.id === id || (transaction.originalId === id && transaction.type === TransactionType.Void);
    return isAboutIt && transaction.needsReview;
  });
}
