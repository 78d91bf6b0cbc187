/**
 * Credits that are shared among holders, which are acquirers or endpoints. A holder may hold as many as are free besides.
 * So one that returns none holds half of them, two hold a third each, and there is always room for another.
 */
export class Shares<Holder = number> {
  readonly #credits: number;
  readonly #held = new Map<Holder, number>();
  #total = 0;

  constructor(credits: number) {
    this.#credits = credits;
  }

  get free(): number {
    return this.#credits - this.#total;
  }

  /** What each holder holds; none of them holds nothing. */
  get held(): ReadonlyMap<Holder, number> {
    return this.#held;
  }

  hold(holder: Holder): void {
    this.#total++;
    this.#held.set(holder, (this.#held.get(holder) ?? 0) + 1);
  }

  release(holder: Holder): void {
    this.#total--;
    const held = this.#held.get(holder)! - 1;
    if (held > 0) this.#held.set(holder, held);
    else this.#held.delete(holder);
  }

  isAtShare(holder: Holder): boolean {
    return (this.#held.get(holder) ?? 0) >= this.free;
  }
}
