import { Disposition, type DispositionId } from './disposition.ts';
import { LinkState, type LinkStateId } from './link-state.ts';
import { Status, type StatusId } from './status.ts';
import { ReversalState, type Transaction, TransactionType } from './transaction.ts';

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

/**
 * Dispositions with which a tap releases its link, unless the merchant voided the tap (see `holdsLink`). An uncertain
 * tap never releases it: its money may have been taken.
 */
export const RELEASING_DISPOSITIONS: readonly DispositionId[] = [
  Disposition.Declined,
  Disposition.DeclinedOffline,
  Disposition.UnableToGoOnline,
  Disposition.Voided,
];

/** Final statuses of a tap that was refused before it was submitted: it never held its link. */
export const REFUSED_STATUSES: readonly StatusId[] = [Status.BadRequestReceived, Status.ErrorFindingConfig];

/**
 * Whether a tap holds its link, and uses up its reference. A void that the merchant requested does not release the
 * link: the order was paid and then cancelled, so that paying it again would surprise the merchant. An automatic
 * reversal does, because the customer never saw an approval. What a person has resolved does not, because the customer may
 * have seen one, unless it was declined: that never changes.
 */
export function holdsLink({
  status,
  disposition,
  voidState,
  reversalState,
}: Pick<Transaction, 'status' | 'disposition' | 'voidState' | 'reversalState'>): boolean {
  if (REFUSED_STATUSES.includes(status)) return false;
  if (voidState !== null) return true;
  if (reversalState === ReversalState.resolved && disposition !== Disposition.Declined) return true;
  return disposition === null || !RELEASING_DISPOSITIONS.includes(disposition);
}

/** The link that a tap claims in the commit of its row. Refunds and voids of a tap claim nothing. */
export function claimedLink({ type, consumerId }: Pick<Transaction, 'type' | 'consumerId'>): string | undefined {
  const isTap = type === TransactionType.Tap || type === TransactionType.TT3;
  return isTap && consumerId !== null ? consumerId : undefined;
}

/** The state that a tap moves its link to. A refused tap does not count as created. */
export function stateAfterTap({ status }: Pick<Transaction, 'status'>): LinkStateId {
  return REFUSED_STATUSES.includes(status) ? LinkState.QRCodeGenerated : LinkState.TransactionCreated;
}
