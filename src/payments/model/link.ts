import { keepsAmount } from './review.ts';
import { Status, type StatusId } from './status.ts';
import { type Transaction, TransactionType } from './transaction.ts';

/**
 * The state of a link or intent is its progress on the phone (interface 3.2). The numbers are those of the contract.
 *
 * A link starts in **QRCodeGenerated**. When a device fetches the details with its own token before the link
 * expires, the link becomes **QRCodeScanned**. When the device is ready to read a card, it reports
 * **TransactionStarted**. The commit that accepts a tap for the link makes it **TransactionCreated**, even if an
 * earlier report was lost. **ResponseReceivedByPhone** is the report of the device that it has the gateway's
 * response, and is accepted only after a response exists.
 *
 * The state never moves backwards. A report of an earlier or the same state changes nothing, so a device may repeat
 * a report or send it too late. After a decline has released the link, a second tap starts from the state that the
 * first tap reached. Expiry is not a state: an expired link keeps the state that it had.
 */
export const LinkState = {
  QRCodeGenerated: 0,
  QRCodeScanned: 1,
  TransactionStarted: 2,
  TransactionCreated: 3,
  ResponseReceivedByPhone: 4,
} as const;

export type LinkStateId = (typeof LinkState)[keyof typeof LinkState];

export type LinkStateName = keyof typeof LinkState;

const LINK_STATE_NAMES = Object.keys(LinkState) as LinkStateName[];

export function linkStateName(id: LinkStateId): LinkStateName {
  return LINK_STATE_NAMES[id]!;
}

/** Every allowed transition. */
export const LINK_STATE_MOVES: ReadonlyMap<LinkStateId, readonly LinkStateId[]> = new Map<
  LinkStateId,
  readonly LinkStateId[]
>([
  [LinkState.QRCodeGenerated, [LinkState.QRCodeScanned, LinkState.TransactionStarted, LinkState.TransactionCreated]],
  [LinkState.QRCodeScanned, [LinkState.TransactionStarted, LinkState.TransactionCreated]],
  [LinkState.TransactionStarted, [LinkState.TransactionCreated]],
  [LinkState.TransactionCreated, [LinkState.ResponseReceivedByPhone]],
  [LinkState.ResponseReceivedByPhone, []],
]);

/** Identifies a link or intent; the tenant is part of the key. */
export interface LinkKey {
  readonly acquirerId: number;
  /** UUID v4: `reference` of 2.8, `id` of 2.9. */
  readonly id: string;
}

/** A link opens the payment app by a URL; another app passes on an intent. */
export type LinkKind = 'link' | 'intent';

/** What a customer lets a creditor collect each month (2.4). Amounts are in minor units of the link's currency. */
export interface Mandate {
  /** Day of the month, 1 to 31. */
  readonly collectionDay: number;
  readonly creditorABSN: string;
  readonly accountNumber: string;
  /** 13 digits. */
  readonly idNumber: string;
  readonly instalmentMinor: number;
  readonly instalmentVisibility: 'both' | 'maximumOnly' | 'instalmentOnly';
  readonly maxCollectionMinor: number;
  readonly contractReference: string;
}

/** A payment request, as its creator submitted it. */
export interface NewLink extends LinkKey {
  readonly integratorId: number;
  readonly merchantId: string;
  readonly kind: LinkKind;
  readonly type: typeof TransactionType.Tap | typeof TransactionType.TT3;
  readonly paymentReference: string;
  readonly amountMinor: number;
  readonly currency: string;
  /** False for a merchant's own app, which needs no pay page. */
  readonly isConsumerApp: boolean;
  /** The terminal for a tap whose token names none. */
  readonly xTid: string | null;
  readonly mandate: Mandate | null;
  readonly expiresAtMs: number;
  /** Identifies the request that created it, if the request had an Idempotency-Key. */
  readonly requestHash?: Uint8Array | null;
}

export interface Link extends NewLink {
  readonly state: LinkStateId;
  /** The last tap on the link; null before the first. */
  readonly transactionId: string | null;
  /** Whether the link has expired, by the clock of the database. */
  readonly isPast: boolean;
  /** Whether a tap holds the link: the tap is in progress, or its money was or may have been taken. */
  readonly isHeld: boolean;
  readonly createdAtMs: number;
  readonly updatedAtMs: number;
}

/** Whether the link has expired unpaid: no tap can pay it any longer. */
export function isExpired({ isPast, isHeld }: Pick<Link, 'isPast' | 'isHeld'>): boolean {
  return isPast && !isHeld;
}

/** Final statuses of a tap that was refused before it was submitted: it never held its link. */
export const REFUSED_STATUSES: readonly StatusId[] = [Status.BadRequestReceived, Status.ErrorFindingConfig];

/**
 * Whether a tap holds its link, and uses up its reference. A void that the merchant requested does not release the
 * link: the order was paid and then cancelled, so that paying it again would surprise the merchant. An automatic
 * reversal does, because the customer never saw an approval. A tap in review holds its link until a person has found
 * it declined or voided. A tap that released its link holds it again when the switch approves it late, although another
 * tap may be the last one on the link.
 */
export function holdsLink({
  status,
  voidState,
  ...amount
}: Pick<Transaction, 'status' | 'disposition' | 'voidState' | 'reversalState' | 'needsReview'>): boolean {
  return !REFUSED_STATUSES.includes(status) && (voidState !== null || keepsAmount(amount));
}

/** Refunds and voids of a tap name its link, too, and neither claim nor hold it. */
export const TAP_TYPES: readonly Transaction['type'][] = [TransactionType.Tap, TransactionType.TT3];

/** The link that a tap claims in the commit of its row. */
export function claimedLink({ type, consumerId }: Pick<Transaction, 'type' | 'consumerId'>): string | undefined {
  return TAP_TYPES.includes(type) && consumerId !== null ? consumerId : undefined;
}

/** The state that a tap moves its link to. A refused tap does not count as created. */
export function stateAfterTap({ status }: Pick<Transaction, 'status'>): LinkStateId {
  return REFUSED_STATUSES.includes(status) ? LinkState.QRCodeGenerated : LinkState.TransactionCreated;
}
