import type { JobPayloads } from '../../schemas/jobs.ts';
import { faultOfTrail } from '../../src/ops/verify-ledger/fault-of-trail.ts';
import { Disposition, dispositionName } from '../../src/transactions/disposition.ts';
import { ReversalState, type Transaction, TransactionType, VoidState } from '../../src/transactions/transaction.ts';
import type { Row } from './memory-store.ts';
import type { Booked } from './uncertain-switch.ts';

/** Everything that was written down, by all sides, when a history has come to its end. */
export interface Books {
  readonly rows: ReadonlyMap<string, Row>;
  readonly ledger: readonly Booked[];
  readonly events: readonly NonNullable<JobPayloads['webhook']['outcome']>[];
  /** The last outcome that each merchantReference's phone was told. */
  readonly told: ReadonlyMap<string, string>;
}

/** What does not agree in them, in words. */
export function faultsOfBooks(books: Books): string[] {
  const keys = new Set([...books.rows.values()].map(({ transaction }) => transaction.rrn));
  const strays = books.ledger.filter(({ key, state }) => state === 'approved' && !keys.has(key));
  return [
    ...strays.map(({ key }) => `${key} is approved, and in no transaction`),
    ...[...books.rows.values()].flatMap((row) => faultsOfRow(books, row)),
  ];
}

/** Keys end with the STAN, and no request is sent twice. */
export function faultsOfRequests(keys: readonly string[]): string[] {
  const stans = keys.map((key) => key.slice(-6));
  return stans.filter((stan, index) => stans.indexOf(stan) !== index).map((stan) => `STAN ${stan} came twice`);
}

function faultsOfRow(books: Books, { transaction, trail }: Row): string[] {
  const { id, disposition, status, type } = transaction;
  const wrong = faultOfTrail(trail, status);
  const found = [
    ...(disposition === null ? ['has no outcome'] : []),
    ...(wrong === undefined ? [] : [wrong]),
    ...(type === TransactionType.Void
      ? []
      : [...faultsOfMoney(books, transaction), ...faultsOfTelling(books, transaction)]),
    ...(type === TransactionType.Tap ? faultsOfReservation(books, transaction) : []),
  ];
  return found.map((what) => `${id}: ${what}`);
}

function faultsOfMoney({ ledger, rows }: Books, transaction: Transaction): string[] {
  const { rrn, disposition, reversalState, approvedMinor, id } = transaction;
  const booked = ledger.filter(({ key }) => key === rrn);
  const standing = booked.some(({ state }) => state === 'approved');
  const isVisible =
    reversalState === ReversalState.needsReview ||
    [...rows.values()].some(({ transaction: each }) => each.originalId === id && each.needsReview);
  const faults: string[] = [];
  if (booked.length > 1) faults.push('was authorized twice');
  if (standing && disposition !== Disposition.Approved && !isVisible)
    faults.push(`stands at the switch, and is ${disposition === null ? 'open' : dispositionName(disposition)}`);
  if (disposition === Disposition.Approved && !standing && !isVisible)
    faults.push('is Approved, and not at the switch');
  if (disposition === Disposition.Approved && approvedMinor !== booked[0]?.amountMinor)
    faults.push('is of another amount');
  if (disposition === Disposition.Indeterminate && reversalState !== ReversalState.needsReview)
    faults.push('is Indeterminate for good');
  return faults;
}

function faultsOfTelling({ told, events }: Books, transaction: Transaction): string[] {
  const { id, merchantReference, disposition, attempt, voidState } = transaction;
  if (disposition === null) return [];
  const final = dispositionName(disposition);
  const last = told.get(merchantReference);
  const beforeIt = voidState === VoidState.done ? 'Approved' : 'Indeterminate';
  const mayBe = final === 'Voided' ? ['Voided', beforeIt] : [final];
  const sequence = attempt * 2 - (disposition === Disposition.Voided ? 0 : 1);
  const count = events.filter(
    (event) => event.transactionId === id && event.sequence === sequence && event.disposition === final,
  ).length;
  return [
    ...(last !== undefined && !mayBe.includes(last) ? [`is ${final}, and the phone was told ${last}`] : []),
    ...(count === 1 ? [] : [`${count} events tell that it is ${final}`]),
  ];
}

/** What is given back is what its refunds took, and never more than the sale; of a void there is none. */
function faultsOfReservation({ rows }: Books, { id, refundedMinor, approvedMinor, voidState }: Transaction): string[] {
  const refunds = [...rows.values()]
    .map(({ transaction }) => transaction)
    .filter(({ originalId, type }) => originalId === id && type === TransactionType.Refund);
  const kept = refunds.filter(
    ({ disposition }) => disposition === Disposition.Approved || disposition === Disposition.Indeterminate,
  );
  const given = kept.reduce((sum, { amountMinor }) => sum + amountMinor!, 0);
  return [
    ...(given === refundedMinor ? [] : [`has ${refundedMinor} reserved, and its refunds took ${given}`]),
    ...(given > (approvedMinor ?? 0) ? ['is refunded beyond its amount'] : []),
    ...(voidState !== null && given > 0 ? ['is voided and refunded'] : []),
  ];
}
