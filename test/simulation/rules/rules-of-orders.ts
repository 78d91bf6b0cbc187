import { Disposition } from '../../../src/payments/model/disposition.ts';
import { ReversalState, type Transaction, TransactionType } from '../../../src/payments/model/transaction.ts';
import type { Books } from './books.ts';
import { isDenied } from './lies.ts';
import { isInReview } from './rules-of-money.ts';

/** Rules across transactions: an order and a link are paid once, and a sale has the sum of its refunds. */
export function faultsOfOrders(books: Books): string[] {
  const all = [...books.rows.values()].map(({ transaction }) => transaction);
  const sales = all.filter(({ type }) => type !== TransactionType.Refund && type !== TransactionType.Void);
  const orders = Map.groupBy(sales, ({ merchantReference }) => `order ${merchantReference}`);
  const linked = sales.filter(({ consumerId }) => consumerId !== null);
  const links = Map.groupBy(linked, ({ consumerId }) => `link ${consumerId}`);
  const paid = (taps: readonly Transaction[]) => taps.filter((tap) => isPaid(books, tap)).length;
  const paidTwice = [...orders, ...links].filter(([, taps]) => paid(taps) > 1);
  return [
    ...paidTwice.map(([name]) => `${name} is paid twice`),
    ...sales.flatMap((sale) => faultsOfReservation(all, sale)),
  ];
}

function isPaid(books: Books, tap: Transaction): boolean {
  const booked = books.bookings.filter(({ transactionId, state }) => transactionId === tap.id && state === 'booked');
  return !isInReview(books, tap) && booked.some((booking) => !isDenied(books, booking));
}

const OPEN: readonly number[] = [
  ReversalState.owed,
  ReversalState.sent,
  ReversalState.confirming,
  ReversalState.needsReview,
];

/** The reserved amount of a sale is what its refunds returned, or may have returned. */
function faultsOfReservation(all: readonly Transaction[], { id, refundedMinor }: Transaction): string[] {
  const taking = all.filter(
    ({ type, originalId, disposition, reversalState, needsReview }) =>
      type === TransactionType.Refund &&
      originalId === id &&
      (disposition === Disposition.Approved ||
        disposition === Disposition.Indeterminate ||
        OPEN.includes(reversalState) ||
        needsReview),
  );
  const taken = taking.reduce((sum, { amountMinor }) => sum + amountMinor!, 0);
  return taken === refundedMinor ? [] : [`${id} has ${refundedMinor} reserved, and its refunds took ${taken}`];
}
