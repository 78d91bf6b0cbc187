import { Shares } from '../basics/limits/shares.ts';

/** The credits of a queue, shared among the acquirers of its jobs. */
export class FairShares {
  readonly #shares: Shares;
  /** Groups of the jobs in progress. */
  readonly #groups = new Map<number, Set<string>>();

  constructor(credits: number) {
    this.#shares = new Shares(credits);
  }

  /** @param group of the job; that of its acquirer by default */
  hold(acquirerId: number, group?: string | null): void {
    this.#shares.hold(acquirerId);
    const groups = this.#groups.get(acquirerId) ?? new Set([groupOfAcquirer(acquirerId)]);
    this.#groups.set(acquirerId, groups.add(group ?? groupOfAcquirer(acquirerId)));
  }

  /** @returns whether the acquirer was at its share until now */
  release(acquirerId: number): boolean {
    const wasAtShare = this.isAtShare(acquirerId);
    this.#shares.release(acquirerId);
    if (!this.#shares.held.has(acquirerId)) this.#groups.delete(acquirerId);
    return wasAtShare;
  }

  isAtShare(acquirerId: number): boolean {
    return this.#shares.isAtShare(acquirerId);
  }

  /** Groups of the acquirers that are at their share. */
  get groupsAtShare(): string[] {
    return [...this.#groups].flatMap(([acquirerId, groups]) => (this.isAtShare(acquirerId) ? [...groups] : []));
  }

  /** Jobs that can be taken at once, even if all of them are of the acquirer that holds the most and may hold more. */
  get room(): number {
    const { free, held } = this.#shares;
    let most = 0;
    for (const each of held.values()) if (each < free && each > most) most = each;
    return Math.ceil((free - most) / 2);
  }
}

/** The group of jobs that have no other. */
export function groupOfAcquirer(acquirerId: number): string {
  return `${acquirerId}`;
}
