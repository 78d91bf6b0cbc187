import { DuplicateReference, Forbidden, NotFound, RequestRejected, TapRefused } from '../../errors.ts';
import { admitsReference } from '../decisions/offered-reference.ts';
import { isExpired, type Link } from '../model/link.ts';
import type { Principal } from '../model/principal.ts';
import type { Transaction } from '../model/transaction.ts';
import type { TransactionDependencies } from '../ports/transaction-dependencies.ts';
import type { ReadTap } from './read-tap.ts';

/**
 * A tap belongs to the link whose own token it comes with; by any other token, to the link that its merchantReference names.
 * Only the commit of the tap's row knows the latter for certain, so that is where it is looked for: a tap of no link costs
 * no look-up before.
 */
export async function linkOfToken(
  deps: Pick<TransactionDependencies, 'links'>,
  { acquirerId, merchantId, consumerId }: Principal,
): Promise<Link | undefined> {
  if (consumerId === undefined) return undefined;
  const link = await deps.links.find({ acquirerId, id: consumerId });
  if (link?.merchantId !== merchantId) throw new NotFound();
  return link;
}

/**
 * The customer holds the token of a link. Under a reference of their choice they could pay for one order the amount of
 * another, or use up references of the merchant's tills.
 *
 * @throws Forbidden for a reference that is neither the link's nor that of an earlier tap on it
 */
export async function checkReferenceOfToken(
  deps: Pick<TransactionDependencies, 'store'>,
  link: Link,
  merchantReference: string,
): Promise<void> {
  if (admitsReference(link, merchantReference)) return;
  const before = await deps.store.findByReference(link.acquirerId, link.merchantId, merchantReference);
  const isRepeat = before?.consumerId === link.id && before.originalId === null;
  if (!isRepeat) throw new Forbidden('FORBIDDEN');
}

/** A token of a link, for a link, and for nothing else: 404 for every other transaction. */
export function isOpenTo({ consumerId }: Principal, transaction: Pick<Transaction, 'consumerId'>): boolean {
  return consumerId === undefined || consumerId === transaction.consumerId;
}

/** @throws TapRefused when the card was asked for another amount or currency than the link has */
export function checkLinkedAmount(link: Link | undefined, { amountMinor, currency }: ReadTap): void {
  if (!link || (link.amountMinor === amountMinor && link.currency === currency.code)) return;
  throw new TapRefused('/generalCardData', 'AMOUNT_NOT_OF_LINK', 'request');
}

/** Why a tap could not have its link, and nothing was stored: its time is over, or another tap has it. */
export function refusedLink(link: Link | undefined): RequestRejected | DuplicateReference {
  return link && isExpired(link) ? linkExpired() : new DuplicateReference();
}

export function linkExpired(): RequestRejected {
  return new RequestRejected('LINK_EXPIRED');
}
