import { Disposition, dispositionName } from '../../../src/payments/model/disposition.ts';
import { ReversalState, type Transaction, TransactionType } from '../../../src/payments/model/transaction.ts';
import type { Books } from './books.ts';
import { ACKNOWLEDGES } from './lies.ts';
import { isInReview } from './rules-of-money.ts';

/** The reports to clients and integrators, compared with the end of the transaction. */
export function faultsOfTelling(books: Books, transaction: Transaction): string[] {
  const { id, disposition, attempt, type } = transaction;
  if (type === TransactionType.Void || disposition === null) return [];
  const final = dispositionName(disposition);
  const events = books.events.filter(({ transactionId }) => transactionId === id);
  const last = events.toSorted((one, other) => other.sequence - one.sequence)[0];
  const reported = books.reported.filter((response) => response.transactionId === id && response.attempt === attempt);
  const faults = reported.flatMap((response) => faultsOfResponse(books, transaction, response.disposition));
  if (last?.disposition !== final) faults.push(`is ${final}, and the last event says ${last?.disposition}`);
  const isRepeated = new Set(events.map(({ sequence }) => sequence)).size < events.length;
  if (isRepeated) faults.push('has two events with one sequence');
  return faults;
}

function faultsOfResponse(books: Books, transaction: Transaction, reported: string | null): string[] {
  const { disposition } = transaction;
  const wasVoided = [...books.rows.values()].some(
    ({ transaction: each }) => each.originalId === transaction.id && each.type === TransactionType.Void,
  );
  const stands = disposition === Disposition.Approved || wasVoided || isInReview(books, transaction);
  if (reported === 'Approved' && !stands) return [`is ${dispositionName(disposition!)}, and the client got Approved`];
  if (reported !== 'Approved' && reported !== null && disposition === Disposition.Approved)
    return [`is Approved, and the client got ${reported}`];
  return [];
}

/** What needs review is marked; what was reversed was acknowledged by the switch. */
export function faultsOfReviews(books: Books, transaction: Transaction): string[] {
  const { id, needsReview, reversalState, disposition } = transaction;
  const faults: string[] = [];
  if (reversalState === ReversalState.needsReview && !needsReview)
    faults.push('has a review that the list does not show');
  const isAlarmed = books.alarms.has(id) || books.hadFaults;
  if (reversalState === ReversalState.needsReview && !isAlarmed) faults.push('has a review without an alarm');
  const isApproved = books.statements.some(
    (said) => said.transactionId === id && said.meaning === 'approved' && !said.isUnheard,
  );
  if (disposition === Disposition.Declined && isApproved && !isInReview(books, transaction))
    faults.push('was approved after its decline, and is not in review');
  const acknowledged = books.statements.some(
    (said) => said.transactionId === id && ACKNOWLEDGES.includes(said.meaning),
  );
  if (disposition === Disposition.Voided && !acknowledged) faults.push('is Voided, and nothing was acknowledged');
  return faults;
}
