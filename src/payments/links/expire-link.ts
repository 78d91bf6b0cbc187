import type { LinkKey } from '../model/link.ts';
import type { TransactionDependencies } from '../ports/transaction-dependencies.ts';

/**
 * If the clock of the database has not reached the time yet, by milliseconds, the job runs again after this many
 * seconds.
 */
const NOT_YET_SECONDS = 1;

/** Expires a link. It can no longer be paid, and its reference becomes available, unless a tap holds the link. */
export async function expireLink(
  { links }: Pick<TransactionDependencies, 'links'>,
  key: LinkKey,
): Promise<'done' | { readonly againAfterSeconds: number }> {
  return (await links.expire(key)) === 'done' ? 'done' : { againAfterSeconds: NOT_YET_SECONDS };
}
