import { createHash } from 'node:crypto';
import type { ChainedEvent } from '../store/settings/admin-events.ts';

/** The last event of a chain. Kept elsewhere, it shows if the end of the chain was removed or written again. */
export interface ChainHead {
  readonly acquirerId: number;
  readonly number: number;
  readonly hash: string;
}

export interface ChainFault {
  readonly acquirerId: number;
  readonly number: number;
  /** `changed`: differs from its hash; `missing`: was before `number`; `replaced`: an earlier head has another hash. */
  readonly kind: 'changed' | 'missing' | 'replaced';
}

/** The hash of an event: SHA-256 over its parts, each with its length in bytes, a colon and its value, `-` for null. */
function hashOf(event: ChainedEvent): string {
  const { acquirerId, number, id, at, actor, action, kind, subjectId, before, after } = event;
  const parts = [`${acquirerId}`, `${number}`, id, at, actor, action, kind, subjectId, before, after];
  const hash = createHash('sha256');
  for (const part of [...parts, event.previousAt, event.previousHash])
    hash.update(part === null ? '-' : `${Buffer.byteLength(part)}:${part}`);
  return hash.digest('hex');
}

/** Follows the chains of all acquirers, event by event, and collects what is wrong. */
export class ChainCheck {
  readonly faults: ChainFault[] = [];
  readonly #heads = new Map<number, ChainHead>();
  readonly #expected = new Map<number, ChainHead>();
  #last: ChainedEvent | undefined;

  /** @param earlier heads that were kept elsewhere */
  constructor(earlier: readonly ChainHead[] = []) {
    for (const head of earlier) this.#expected.set(head.acquirerId, head);
  }

  /** The last event of each chain so far. */
  get heads(): readonly ChainHead[] {
    return [...this.#heads.values()];
  }

  /** Events by acquirer, then by number. */
  take(event: ChainedEvent): void {
    const { acquirerId, number, hash } = event;
    const last = this.#last?.acquirerId === acquirerId ? this.#last : undefined;
    const isNext = number === (last?.number ?? 0) + 1;
    if (!isNext && !event.mayFollowDeleted) this.#report(event, 'missing');
    const follows = event.previousHash === (last?.hash ?? null) && event.previousAt === (last?.at ?? null);
    if ((isNext && !follows) || hashOf(event) !== hash) this.#report(event, 'changed');
    const expected = this.#expected.get(acquirerId);
    if (expected?.number === number && expected.hash !== hash) this.#report(event, 'replaced');
    this.#heads.set(acquirerId, { acquirerId, number, hash });
    this.#last = event;
  }

  /** Compares the ends of the chains with the earlier heads, after the last event. */
  end(): void {
    for (const { acquirerId, number } of this.#expected.values()) {
      if ((this.#heads.get(acquirerId)?.number ?? 0) < number) this.#report({ acquirerId, number }, 'missing');
    }
  }

  #report({ acquirerId, number }: Pick<ChainFault, 'acquirerId' | 'number'>, kind: ChainFault['kind']): void {
    this.faults.push({ acquirerId, number, kind });
  }
}
