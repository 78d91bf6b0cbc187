import { makeRoom } from '../../codecs/bytes/lru-map.ts';
import type { Transaction } from './transaction.ts';

/**
 * One switch behind a processor, between two changes of what identifies it. A message belongs to the switch that it was
 * sent to, so a transaction keeps the revision of its submission, and a connection has that of the configuration that it
 * was opened with.
 */
export interface SwitchRevision {
  /** Increases with each change of what identifies the switch, from 0. */
  readonly number: number;
  /** The first revision that an administrator stated to be the same switch as this one. */
  readonly sameSince: number;
}

const FIRST: SwitchRevision = { number: 0, sameSince: 0 };

/**
 * Whether a connection leads to the switch that a transaction was sent to.
 *
 * - `own`: yes. Also if an administrator has stated it: what the switch then does not know needs review
 *   (reversal-responses.ts).
 * - `other`: the processor now leads to another switch, so a person must find out what the former one did.
 * - `outdated`: the connection was opened before the last change. This or another process soon opens a new one.
 */
export function switchOf(
  { switchRevision }: Pick<Transaction, 'switchRevision'>,
  { revision = FIRST }: { readonly revision?: SwitchRevision | undefined },
): 'own' | 'other' | 'outdated' {
  const sentTo = switchRevision ?? 0;
  if (revision.number < sentTo) return 'outdated';
  return revision.sameSince <= sentTo ? 'own' : 'other';
}

/** Uncertain taps are few. Above this number the oldest entries are dropped, and their reversals wait instead. */
const MAX_REMEMBERED = 10_000;

/** Remembers which connection carried a request that may need a reversal. The record lasts as long as this process. */
export class OriginalConnections {
  readonly #connections = new Map<string, string>();

  remember(transactionId: string, connectionId: string): void {
    makeRoom(this.#connections, MAX_REMEMBERED);
    this.#connections.set(transactionId, connectionId);
  }

  find(transactionId: string): string | undefined {
    return this.#connections.get(transactionId);
  }
}
