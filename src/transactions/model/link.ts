import { Disposition, type DispositionId } from './disposition.ts';
import { LinkState, type LinkStateId } from './link-state.ts';
import { Status, type StatusId } from './status.ts';
import { type Transaction, TransactionType } from './transaction.ts';

/** Names a link or intent; the tenant is part of the name. */
export interface LinkKey {
  readonly acquirerId: number;
  /** UUID v4: `reference` of 2.8, `id` of 2.9. */
  readonly id: string;
}

/** A link opens the payment app by its address, an intent is handed over by another app. */
export type LinkKind = 'link' | 'intent';

/** What a customer lets a creditor collect, month by month (2.4). Amounts in minor units of the link's currency. */
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

/** A request for a payment, as its creator asked for it. */
export interface NewLink extends LinkKey {
  readonly integratorId: number;
  readonly merchantId: string;
  readonly kind: LinkKind;
  readonly type: typeof TransactionType.Tap | typeof TransactionType.TT3;
  readonly paymentReference: string;
  readonly amountMinor: number;
  readonly currency: string;
  /** False: for a merchant's own app, so there is no pay page. */
  readonly isConsumerApp: boolean;
  /** The terminal that takes a tap whose token names none. */
  readonly xTid: string | null;
  readonly mandate: Mandate | null;
  readonly expiresAtMs: number;
}

export interface Link extends NewLink {
  readonly state: LinkStateId;
  /** The last tap on it; null before one. */
  readonly transactionId: string | null;
  /** Its time is over, by the database's clock. */
  readonly isPast: boolean;
  /** A tap holds it: one that is under way, or whose money was taken, or may have been. */
  readonly isHeld: boolean;
  readonly createdAtMs: number;
  readonly updatedAtMs: number;
}

/** Nobody paid in time, and nobody will. */
export function isExpired({ isPast, isHeld }: Pick<Link, 'isPast' | 'isHeld'>): boolean {
  return isPast && !isHeld;
}

/** Outcomes by which a tap gives its link free again. An uncertain one never does: its money may have been taken. */
export const RELEASING_DISPOSITIONS: readonly DispositionId[] = [
  Disposition.Declined,
  Disposition.DeclinedOffline,
  Disposition.UnableToGoOnline,
  Disposition.Voided,
];

/** Ends of a tap that was refused before it was submitted: it never held its link. */
export const REFUSED_STATUSES: readonly StatusId[] = [Status.BadRequestReceived, Status.ErrorFindingConfig];

/** The link that a tap claims in the commit of its row; refunds and voids of a tap claim nothing. */
export function claimedLink({ type, consumerId }: Pick<Transaction, 'type' | 'consumerId'>): string | undefined {
  const isTap = type === TransactionType.Tap || type === TransactionType.TT3;
  return isTap && consumerId !== null ? consumerId : undefined;
}

/** The state that a tap brings its link to: what was refused has created nothing. */
export function stateAfterTap({ status }: Pick<Transaction, 'status'>): LinkStateId {
  return REFUSED_STATUSES.includes(status) ? LinkState.QRCodeGenerated : LinkState.TransactionCreated;
}
