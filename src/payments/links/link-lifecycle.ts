import { NotFound, RequestRejected } from '../../basics/errors.ts';
import { offeredReference } from '../decisions/admit.ts';
import { LINK_STATE_MOVES, type Link, type LinkKey, LinkState, type LinkStateId } from '../model/link.ts';
import type { IntentClaims, LinkStore } from '../ports/store-ports.ts';
import { linkExpired } from '../taps/link-of-tap.ts';

/**
 * The verdict on a state that a phone reports: move, stay because the report is outdated, or refuse because it
 * cannot be true.
 */
export type LinkVerdict = 'moves' | 'stays' | 'refused';

/**
 * Decides what happens to a link when its device reports the state `to`.
 *
 * @param hasOutcome whether the tap on it has a result that a phone could have received
 */
export function judgeAcknowledgement(from: LinkStateId, to: LinkStateId, hasOutcome: boolean): LinkVerdict {
  if (to <= from) return 'stays';
  // Only the gateway decides that a card was read and its tap accepted.
  if (to === LinkState.TransactionCreated) return 'refused';
  if (to === LinkState.ResponseReceivedByPhone && !hasOutcome) return 'refused';
  return LINK_STATE_MOVES.get(from)?.includes(to) ? 'moves' : 'refused';
}

/** The values of a link that the payment app needs to read a card. */
export interface OpenedLink {
  readonly link: Link;
  /** The reference for its tap: the paymentReference, or another one if that was used before. */
  readonly merchantReference: string;
}

/**
 * Returns the details of a link to the app that opened it, and marks the link as scanned.
 *
 * @param id the id in the request of the app; the token opens one link, and any other id is not found
 * @throws NotFound, RequestRejected (LINK_EXPIRED), StoreUnavailable
 */
export async function openLink(links: LinkStore, claims: IntentClaims, id: string): Promise<OpenedLink> {
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
  /** The tap whose response was received, if the app names it. */
  readonly transactionId?: string | undefined;
}

/**
 * Records the progress that the app reports. A report of an earlier or the same state changes nothing.
 *
 * @returns the link as stored
 * @throws NotFound for another link or a tap of another link, RequestRejected (LINK_STATE_CONFLICT, LINK_EXPIRED),
 * StoreUnavailable
 */
export async function acknowledgeLink(
  links: LinkStore,
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
  // A phone may receive its response after the time in which a tap may begin.
  if (link.isPast && !hasOutcome) throw linkExpired();
  await links.moveTo(link, state);
  return state;
}

async function findClaimed(links: LinkStore, { acquirerId, id, merchantId }: IntentClaims, asked: string) {
  const link = asked === id ? await links.find({ acquirerId, id }) : undefined;
  if (link?.merchantId !== merchantId) throw new NotFound();
  return link;
}

/**
 * If the clock of the database has not reached the time yet, by milliseconds, the job runs again after this many
 * seconds.
 */
const NOT_YET_SECONDS = 1;

/** Expires a link. It can no longer be paid, and its reference becomes available, unless a tap holds the link. */
export async function expireLink(
  links: LinkStore,
  key: LinkKey,
): Promise<'done' | { readonly againAfterSeconds: number }> {
  return (await links.expire(key)) === 'done' ? 'done' : { againAfterSeconds: NOT_YET_SECONDS };
}
