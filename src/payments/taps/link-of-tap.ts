import { Forbidden, NotFound, RequestRejected, TapRefused } from '../../basics/errors.ts';
import { admitsReference } from '../decisions/admit.ts';
import { isExpired, type Link } from '../model/link.ts';
import type { Transaction } from '../model/transaction.ts';
import type { Principal } from '../ports/directory-ports.ts';
import type { LinkFinder, TransactionStore } from '../ports/store-ports.ts';
import type { ReadTap } from './read-tap.ts';

/**
 * A tap belongs to the link that its token was issued for. With any other token, it belongs to the link that its
 * merchantReference names. Only the commit of the tap's row knows the latter with certainty and looks it up, so a
 * tap without a link costs no extra read.
 */
export async function linkOfToken(
  links: LinkFinder,
  { acquirerId, merchantId, consumerId }: Principal,
): Promise<Link | undefined> {
  if (consumerId === undefined) return undefined;
  const link = await links.find({ acquirerId, id: consumerId });
  if (link?.merchantId !== merchantId) throw new NotFound();
  return link;
}

/**
 * The customer holds the token of a link. With a free choice of reference, the customer could pay the amount of
 * another order, or use up references of the merchant's tills.
 *
 * @throws Forbidden for a reference that is neither the link's nor that of an earlier tap on it
 */
export async function checkReferenceOfToken(
  store: Pick<TransactionStore, 'findByReference'>,
  link: Link,
  merchantReference: string,
): Promise<void> {
  if (admitsReference(link, merchantReference)) return;
  const before = await store.findByReference(link.acquirerId, link.merchantId, merchantReference);
  const isRepeat = before?.consumerId === link.id && before.originalId === null;
  if (!isRepeat) throw new Forbidden('FORBIDDEN');
}

/** A token of a link gives access to that link only: 404 for every other transaction. */
export function isOpenTo({ consumerId }: Principal, transaction: Pick<Transaction, 'consumerId'>): boolean {
  return consumerId === undefined || consumerId === transaction.consumerId;
}

/** @throws TapRefused if the amount or currency of the tap differs from the link's */
export function checkLinkedAmount(link: Link | undefined, { amountMinor, currency }: ReadTap): void {
  if (!link || (link.amountMinor === amountMinor && link.currency === currency.code)) return;
  throw new TapRefused('/generalCardData', 'AMOUNT_NOT_OF_LINK', 'request');
}

/** Why a tap could not claim its link and nothing was stored: the link has expired, or another tap holds it. */
export function refusedLink(link: Link): RequestRejected {
  return isExpired(link) ? linkExpired() : linkHeld();
}

export function linkHeld(): RequestRejected {
  return new RequestRejected('LINK_HELD');
}

export function linkExpired(): RequestRejected {
  return new RequestRejected('LINK_EXPIRED');
}
