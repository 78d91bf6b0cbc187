import { Disposition } from '../../src/payments/model/disposition.ts';
import { isBlocked } from '../../src/payments/model/review.ts';
import { ReversalState, type Transaction, TransactionType, VoidState } from '../../src/payments/model/transaction.ts';
import type { NewAttempt, NewVoid, PhoneResponseRecord } from '../../src/payments/ports/store-ports.ts';
import type { Row } from './memory-rows.ts';
import type { MemoryStore } from './memory-store.ts';

/**
 * The commits of refunds, voids and acknowledgements: the guards of src/store/transactions/commit-refunds.ts and
 * refund-store.ts on a Map.
 */
export class MemoryRefunds {
  readonly #store: MemoryStore;

  constructor(store: MemoryStore) {
    this.#store = store;
  }

  reserve(refund: NewAttempt): 'inserted' | 'exists' | 'refused' {
    const { originalId, amountMinor, merchantReference } = refund.transaction;
    if (this.#store.findByReference(merchantReference, refund.transaction)) return 'exists';
    const row = this.#sale(originalId!);
    if (!row || row.transaction.voidState !== null || this.isBlocked(row.transaction)) return 'refused';
    const { refundedMinor, approvedMinor, amountMinor: asked } = row.transaction;
    const isTooMuch = refundedMinor + amountMinor! > (approvedMinor ?? asked ?? 0);
    if (isTooMuch && this.#store.sabotage !== 'reserves too much') return 'refused';
    this.#store.insert(refund);
    row.transaction = { ...row.transaction, refundedMinor: refundedMinor + amountMinor! };
    return 'inserted';
  }

  startVoid({ original, attempt, reverseJob, nowMs }: NewVoid): boolean {
    const row = this.#sale(original.id);
    if (!row || row.transaction.voidState !== null || row.transaction.reversalState !== ReversalState.none)
      return false;
    if (this.isBlocked(row.transaction)) return false;
    if (row.transaction.refundedMinor > 0 && this.#store.sabotage !== 'voids what was refunded') return false;
    const owed = { voidState: VoidState.asked, reversalState: ReversalState.owed, reversalAttempt: 0 };
    row.transaction = { ...row.transaction, ...owed, reversalArmedAtMs: nowMs };
    this.#store.addEntries(row.transaction, [{ void: attempt.transaction.id, at: new Date(nowMs).toISOString() }]);
    this.#store.insert(attempt);
    this.#store.enqueue([reverseJob]);
    return true;
  }

  isBlocked({ id }: Transaction): boolean {
    const rows = [...this.#store.rows.values()].map(({ transaction }) => transaction);
    const sale = this.#store.rows.get(id)?.transaction;
    return (
      sale !== undefined &&
      isBlocked(
        sale,
        rows.filter(({ originalId }) => originalId === id),
      )
    );
  }

  findVoid({ id }: Transaction): Transaction | undefined {
    const rows = [...this.#store.rows.values()].map(({ transaction }) => transaction);
    return rows.findLast(({ type, originalId }) => type === TransactionType.Void && originalId === id);
  }

  acknowledge({ status, fromStatus, auditEntries, ...key }: PhoneResponseRecord): boolean {
    const row = this.#store.rowAt(key, fromStatus);
    if (!row || row.transaction.disposition === null) return false;
    row.transaction = { ...row.transaction, status };
    this.#store.addEntries(key, auditEntries);
    this.#store.remove([key.id]);
    return true;
  }

  /** An approved sale. */
  #sale(id: string): Row | undefined {
    const row = this.#store.rows.get(id);
    const isSale = (type: Transaction['type']) => type !== TransactionType.Refund && type !== TransactionType.Void;
    return row && isSale(row.transaction.type) && row.transaction.disposition === Disposition.Approved
      ? row
      : undefined;
  }
}
