import type { LinkKey } from '../model/link.ts';
import type { TransactionDependencies } from '../ports/transaction-dependencies.ts';

/** The database's clock says that it is not time yet, by milliseconds: look again after so long. */
const NOT_YET_SECONDS = 1;

/** The time of a link is over: nobody can pay it any more, and its reference is free, unless a tap holds it. */
export async function expireLink(
  { links }: Pick<TransactionDependencies, 'links'>,
  key: LinkKey,
): Promise<'done' | { readonly againAfterSeconds: number }> {
  return (await links.expire(key)) === 'done' ? 'done' : { againAfterSeconds: NOT_YET_SECONDS };
}
