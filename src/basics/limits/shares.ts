/**
 * Credits that are shared among acquirers. An acquirer may hold as many as are free besides. So one that returns none holds
 * half of them, two hold a third each, and there is always room for another acquirer.
 */
export class Shares {
  readonly #credits: number;
  readonly #held = new Map<number, number>();
  #total = 0;

  constructor(credits: number) {
    this.#credits = credits;
  }

  get free(): number {
    return this.#credits - this.#total;
  }

  /** What each acquirer holds; none of them holds nothing. */
  get held(): ReadonlyMap<number, number> {
    return this.#held;
  }

  hold(acquirerId: number): void {
    this.#total++;
    this.#held.set(acquirerId, (this.#held.get(acquirerId) ?? 0) + 1);
  }

  release(acquirerId: number): void {
    this.#total--;
    const held = this.#held.get(acquirerId)! - 1;
    if (held > 0) this.#held.set(acquirerId, held);
    else this.#held.delete(acquirerId);
  }

  isAtShare(acquirerId: number): boolean {
    return (this.#held.get(acquirerId) ?? 0) >= this.free;
  }
}
