import {
  claimedLink,
  holdsLink,
  type Link,
  type LinkKey,
  type LinkStateId,
  stateAfterTap,
} from '../../src/payments/model/link.ts';
import { type Transaction, TransactionType } from '../../src/payments/model/transaction.ts';
import type { NewAttempt } from '../../src/payments/ports/store-ports.ts';
import type { MemoryStore } from './memory-store.ts';

type StoredLink = Omit<Link, 'isPast' | 'isHeld'>;

/** Links and what holds them: the guards of src/store/links/link-claims.ts on a Map. */
export class MemoryLinks {
  readonly #store: MemoryStore;
  readonly #time: { readonly nowMs: number };
  readonly #links = new Map<string, StoredLink>();

  constructor(store: MemoryStore, time: { readonly nowMs: number }) {
    this.#store = store;
    this.#time = time;
  }

  copyTo(copy: MemoryLinks): void {
    for (const [id, link] of this.#links) copy.#links.set(id, link);
  }

  get all(): readonly StoredLink[] {
    return [...this.#links.values()];
  }

  create(link: StoredLink): void {
    this.#links.set(link.id, link);
  }

  insert(attempt: NewAttempt): 'inserted' | 'exists' | 'taken' | 'named' {
    const { transaction } = attempt;
    const link = this.#claimed(transaction);
    if (link && !this.#isFree(link)) return 'taken';
    if (!link && transaction.type === TransactionType.Tap && this.#isNamed(transaction)) return 'named';
    const outcome = this.#store.insert(attempt);
    if (link && outcome === 'inserted') this.#claim(link, transaction);
    return outcome;
  }

  retry(attempt: NewAttempt): boolean {
    const link = this.#claimed(attempt.transaction);
    if (link ? !this.#isFree(link) : this.#isNamed(attempt.transaction)) return false;
    const isRetried = this.#store.retry(attempt);
    if (link && isRetried) this.#claim(link, attempt.transaction);
    return isRetried;
  }

  find({ id }: LinkKey): Link | undefined {
    const link = this.#links.get(id);
    return link && { ...link, isPast: this.#isPast(link), isHeld: this.#isHeld(link) };
  }

  findNamed(reference: string): Link | undefined {
    const link = [...this.#links.values()].find((each) => each.paymentReference === reference && !this.#isOver(each));
    return link && this.find(link);
  }

  moveTo({ id }: LinkKey, state: LinkStateId): void {
    const link = this.#links.get(id)!;
    if (link.state < state) this.#links.set(id, { ...link, state });
  }

  isUnused(reference: string): boolean {
    return this.#store.findByReference(reference) === undefined;
  }

  #claimed(transaction: Transaction): StoredLink | undefined {
    const id = claimedLink(transaction);
    return id === undefined ? undefined : this.#links.get(id);
  }

  #isFree(link: StoredLink): boolean {
    return !this.#isPast(link) && !this.#isHeld(link) && !this.#isOvertaken(link);
  }

  #isNamed({ consumerId, merchantReference }: Transaction): boolean {
    const links = [...this.#links.values()];
    return (
      consumerId === null && links.some((link) => link.paymentReference === merchantReference && !this.#isOver(link))
    );
  }

  #claim(link: StoredLink, transaction: Transaction): void {
    const state = Math.max(link.state, stateAfterTap(transaction)) as LinkStateId;
    this.#links.set(link.id, { ...link, transactionId: transaction.id, state });
  }

  /** Expired without a payment. */
  #isOver(link: StoredLink): boolean {
    return this.#isPast(link) && !this.#isHeld(link);
  }

  #isPast({ expiresAtMs }: StoredLink): boolean {
    return expiresAtMs <= this.#time.nowMs;
  }

  #isHeld({ id }: StoredLink): boolean {
    const transactions = [...this.#store.rows.values()].map(({ transaction }) => transaction);
    return transactions.some((each) => claimedLink(each) === id && holdsLink(each));
  }

  #isOvertaken({ paymentReference }: StoredLink): boolean {
    const tap = this.#store.findByReference(paymentReference);
    return tap?.consumerId === null && holdsLink(tap);
  }
}
