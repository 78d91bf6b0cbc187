import { NotFound, RequestRejected } from '../../errors.ts';
import { judgeAcknowledgement } from '../decisions/link-state.ts';
import { offeredReference } from '../decisions/offered-reference.ts';
import type { Link } from '../model/link.ts';
import { LinkState, type LinkStateId } from '../model/link-state.ts';
import type { IntentClaims } from '../ports/link-ports.ts';
import type { TransactionDependencies } from '../ports/transaction-dependencies.ts';
import { linkExpired } from '../tap/link-of-tap.ts';

/** A link as the payment app needs it to read a card. */
export interface OpenedLink {
  readonly link: Link;
  /** What its tap is to be submitted under: the paymentReference, or another one when that has served. */
  readonly merchantReference: string;
}

/**
 * The details of a link, for the app that was handed it: from now on it is scanned.
 *
 * @param id as the app asks for it; the token opens one link, and every other is as if there were none
 * @throws NotFound, RequestRejected (LINK_EXPIRED), StoreUnavailable
 */
export async function openLink(
  { links }: Pick<TransactionDependencies, 'links'>,
  claims: IntentClaims,
  id: string,
): Promise<OpenedLink> {
  const link = await findClaimed(links, claims, id);
  if (link.isPast) throw linkExpired();
  const { QRCodeScanned } = LinkState;
  if (link.state < QRCodeScanned) await links.moveTo(link, QRCodeScanned);
  const isUnused = await links.isUnused(link, link.paymentReference);
  return { link, merchantReference: isUnused ? link.paymentReference : offeredReference(link) };
}

export interface LinkAcknowledgement {
  readonly id: string;
  readonly state: LinkStateId;
  /** The tap whose answer was received, where the app says so. */
  readonly transactionId?: string | undefined;
}

/**
 * The app tells how far it has come. What is behind the link already changes nothing.
 *
 * @returns where the link stands now
 * @throws NotFound for another link or a tap of another link, RequestRejected (LINK_STATE_CONFLICT, LINK_EXPIRED),
 *   StoreUnavailable
 */
export async function acknowledgeLink(
  { links }: Pick<TransactionDependencies, 'links'>,
  claims: IntentClaims,
  { id, state, transactionId }: LinkAcknowledgement,
): Promise<LinkStateId> {
  const link = await findClaimed(links, claims, id);
  const tap = await links.findTapOf(link);
  if (transactionId !== undefined && transactionId !== tap?.id) throw new NotFound();
  const hasOutcome = tap !== undefined && tap.disposition !== null;
  const verdict = judgeAcknowledgement(link.state, state, hasOutcome);
  if (verdict === 'stays') return link.state;
  if (verdict === 'refused') throw new RequestRejected('LINK_STATE_CONFLICT');
  // An answer may be received after the time in which a tap may begin.
  if (link.isPast && !hasOutcome) throw linkExpired();
  await links.moveTo(link, state);
  return state;
}

async function findClaimed(
  links: TransactionDependencies['links'],
  { acquirerId, id, merchantId }: IntentClaims,
  asked: string,
) {
  const link = asked === id ? await links.find({ acquirerId, id }) : undefined;
  if (link?.merchantId !== merchantId) throw new NotFound();
  return link;
}
