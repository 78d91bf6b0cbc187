import { Disposition } from '../../src/payments/model/disposition.ts';
import { ReversalState, type Transaction } from '../../src/payments/model/transaction.ts';
import type { Row } from './memory-rows.ts';
import type { MemoryStore } from './memory-store.ts';

/** The right to send a completion: the guards of src/store/transactions/completions.ts on a Map. */
export class MemoryCompletions {
  readonly #store: MemoryStore;
  readonly #time: { readonly nowMs: number };

  constructor(store: MemoryStore, time: { readonly nowMs: number }) {
    this.#store = store;
    this.#time = time;
  }

  begin(sale: Transaction, seconds: number): boolean {
    const row = this.#standing(sale);
    if (!row || (row.completingUntilMs ?? 0) > this.#time.nowMs) return false;
    row.completingUntilMs = this.#time.nowMs + seconds * 1_000;
    return true;
  }

  end({ id, attempt }: Transaction): void {
    const row = this.#store.rows.get(id);
    if (row?.transaction.attempt === attempt) row.completingUntilMs = null;
  }

  giveUp(sale: Transaction, nowMs: number): void {
    const row = this.#standing(sale);
    if (!row) return;
    row.transaction = { ...row.transaction, needsReview: true };
    this.#store.addEntries(sale, [{ completion: 'givenUp', at: new Date(nowMs).toISOString() }]);
  }

  /** A booked sale without a void. */
  #standing({ id, attempt }: Transaction): Row | undefined {
    const row = this.#store.rows.get(id);
    if (row?.transaction.attempt !== attempt) return undefined;
    const { disposition, reversalState, voidState } = row.transaction;
    const stands = disposition === Disposition.Approved && reversalState === ReversalState.none && voidState === null;
    return stands ? row : undefined;
  }
}
