import type { Execution } from './execution.ts';

/** The outcome of the transactions of an execution that rests, without their names. */
export function outcomeOf({ store, ledger }: Execution): string {
  const bookings = [...ledger.bookings.values()];
  const rows = [...store.rows.values()].map(({ transaction, superseded }) => {
    const { id, type, attempt, disposition, needsReview, refundedMinor, voidState, pinState, reversalState } =
      transaction;
    const states = bookings.filter(({ transactionId }) => transactionId === id).map(({ state }) => state);
    const before = superseded.map((each) => each.reversalState);
    return [
      type,
      attempt,
      disposition,
      needsReview,
      refundedMinor,
      voidState,
      pinState,
      reversalState,
      ...before,
      ...states,
    ];
  });
  return rows
    .map((each) => each.join())
    .sort()
    .join(' ');
}
