/**
 * The credits of a queue, shared among acquirers. An acquirer may hold as many as are free besides. So one whose switch does
 * not respond holds half of them, two hold a third each, and there is always room for another acquirer.
 */
export class FairShares {
  readonly #credits: number;
  readonly #held = new Map<number, number>();
  /** Groups of the jobs in progress. */
  readonly #groups = new Map<number, Set<string>>();
  #total = 0;

  constructor(credits: number) {
    this.#credits = credits;
  }

  /** @param group of the job; that of its acquirer by default */
  hold(acquirerId: number, group?: string | null): void {
    this.#total++;
    this.#held.set(acquirerId, (this.#held.get(acquirerId) ?? 0) + 1);
    const groups = this.#groups.get(acquirerId) ?? new Set([groupOfAcquirer(acquirerId)]);
    this.#groups.set(acquirerId, groups.add(group ?? groupOfAcquirer(acquirerId)));
  }

  /** @returns whether the acquirer was at its share until now */
  release(acquirerId: number): boolean {
    const wasAtShare = this.isAtShare(acquirerId);
    const held = this.#held.get(acquirerId)! - 1;
    this.#total--;
    if (held > 0) this.#held.set(acquirerId, held);
    else {
      this.#held.delete(acquirerId);
      this.#groups.delete(acquirerId);
    }
    return wasAtShare;
  }

  isAtShare(acquirerId: number): boolean {
    return (this.#held.get(acquirerId) ?? 0) >= this.#free;
  }

  /** Groups of the acquirers that are at their share. */
  get groupsAtShare(): string[] {
    return [...this.#groups].flatMap(([acquirerId, groups]) => (this.isAtShare(acquirerId) ? [...groups] : []));
  }

  /** Jobs that can be taken at once, even if all of them are of the acquirer that holds the most and may hold more. */
  get room(): number {
    const free = this.#free;
    let most = 0;
    for (const held of this.#held.values()) if (held < free && held > most) most = held;
    return Math.ceil((free - most) / 2);
  }

  get #free(): number {
    return this.#credits - this.#total;
  }
}

/** The group of jobs that have no other. */
export function groupOfAcquirer(acquirerId: number): string {
  return `${acquirerId}`;
}
