import { Disposition } from '../../src/transactions/disposition.ts';
import type { NewVoid, VoidEnd } from '../../src/transactions/ports/refund-ports.ts';
import type { AnswerRecord, NewAttempt } from '../../src/transactions/ports.ts';
import { ReversalState, type Transaction, TransactionType, VoidState } from '../../src/transactions/transaction.ts';
import type { MemoryStore, Row } from './memory-store.ts';

/** What refunds, voids and acknowledgements commit: the guards of src/store/transactions/commit-refunds.ts and commit-voids.ts on a Map. */
export class MemoryRefunds {
  readonly #store: MemoryStore;

  constructor(store: MemoryStore) {
    this.#store = store;
  }

  reserve(refund: NewAttempt): 'inserted' | 'exists' | 'refused' {
    const { originalId, amountMinor, merchantReference } = refund.transaction;
    if (this.#store.findByReference(merchantReference)) return 'exists';
    const row = this.#sale(originalId!);
    if (!row || row.transaction.voidState !== null) return 'refused';
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
    if (row.transaction.refundedMinor > 0 && this.#store.sabotage !== 'voids what was refunded') return false;
    const owed = { voidState: VoidState.asked, reversalState: ReversalState.owed, reversalAttempt: 0 };
    row.transaction = { ...row.transaction, ...owed };
    this.#store.told(row.transaction, [{ void: attempt.transaction.id, at: new Date(nowMs).toISOString() }]);
    this.#store.insert(attempt);
    this.#store.enqueue([reverseJob]);
    return true;
  }

  endVoid({ step, isVoided, needsReview }: VoidEnd): boolean {
    if (!this.#store.stepReversal(step)) return false;
    const sale = this.#store.rows.get(step.transaction.id)!;
    if (sale.transaction.voidState !== VoidState.asked) return true;
    sale.transaction = { ...sale.transaction, voidState: isVoided ? VoidState.done : null };
    for (const row of this.#store.rows.values()) {
      const { type, originalId, disposition } = row.transaction;
      if (type !== TransactionType.Void || originalId !== sale.transaction.id || disposition !== null) continue;
      const end = { disposition: isVoided ? Disposition.Approved : Disposition.Declined, needsReview };
      row.transaction = { ...row.transaction, ...end };
    }
    return true;
  }

  acknowledge({ status, fromStatus, moves, overdueJob, ...key }: AnswerRecord): boolean {
    const row = this.#store.rowAt(key, fromStatus);
    if (!row || row.transaction.disposition === null) return false;
    row.transaction = { ...row.transaction, status };
    this.#store.told(key, moves);
    if (overdueJob) this.#store.remove([overdueJob]);
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
