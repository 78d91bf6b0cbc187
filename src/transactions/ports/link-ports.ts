import type { Link, LinkKey, NewLink } from '../model/link.ts';
import type { LinkStateId } from '../model/link-state.ts';
import type { Transaction } from '../model/transaction.ts';
import type { Tenant } from './store-ports.ts';

/** Finds the link that a tap belongs to. */
export interface LinkFinder {
  find(key: LinkKey): Promise<Link | undefined>;
  /**
   * The link that stands for a merchant's reference: its paymentReference, or the link's own. One whose time is over, and that
   * no tap holds, is expired by this and not found.
   */
  findNamed(acquirerId: number, merchantId: string, reference: string): Promise<Link | undefined>;
}

/** What links ask of the database besides what taps do. */
export interface LinkStore extends LinkFinder {
  /**
   * Stores a link with the job that will expire it. `exists`: the merchant's paymentReference stands for a link that is live
   * or settled, or for a tap whose money was taken, or may have been.
   */
  create(link: NewLink): Promise<'created' | 'exists'>;
  /** Moves on, never back. */
  moveTo(key: LinkKey, state: LinkStateId): Promise<void>;
  /** `notYet` when its time is not over by the database's clock. */
  expire(key: LinkKey): Promise<'done' | 'notYet'>;
  /** A link of a tenant, with the last tap on it. */
  findOwned(tenant: Tenant, id: string): Promise<{ link: Link; tap: Transaction | undefined } | undefined>;
  /** The last tap that a merchantReference, or the paymentReference of a link, stands for. */
  findTap(tenant: Tenant, merchantReference: string): Promise<Transaction | undefined>;
  /** The tap on a link, if it is the one. */
  findTapOf(link: Link): Promise<Transaction | undefined>;
  /** Whether a merchantReference stands for no transaction yet. */
  isUnused(link: Link, merchantReference: string): Promise<boolean>;
  /** The one merchant of a tenant; undefined when there are several, or none. */
  onlyMerchant(tenant: Tenant): Promise<string | undefined>;
}

/** As whom a payment app speaks: the link whose token it holds. */
export interface IntentClaims extends LinkKey {
  readonly merchantId: string;
}

/** Tokens that open one link to whoever holds them, until it expires. */
export interface IntentTokens {
  issue(link: Pick<NewLink, 'acquirerId' | 'id' | 'merchantId' | 'expiresAtMs'>): Promise<string>;
}

/** As whom an app speaks that makes intents by itself: always for the one merchant. */
export interface IntentSession {
  readonly acquirerId: number;
  readonly merchantId: string;
}
