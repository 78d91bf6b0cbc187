import type { Link, LinkKey, NewLink } from '../model/link.ts';
import type { LinkStateId } from '../model/link-state.ts';
import type { Transaction } from '../model/transaction.ts';
import type { Tenant } from './store-ports.ts';

/** Finds the link that a tap belongs to. */
export interface LinkFinder {
  find(key: LinkKey): Promise<Link | undefined>;
  /**
   * The link with a merchant's reference: its paymentReference, or the link's own id. A link past its time that no
   * tap holds is expired by this call and not found.
   */
  findNamed(acquirerId: number, merchantId: string, reference: string): Promise<Link | undefined>;
}

/** The database operations of links that taps do not need. */
export interface LinkStore extends LinkFinder {
  /**
   * Stores a link with the job that will expire it. `exists`: the merchant's paymentReference belongs to a link that
   * is live or settled, or to a tap whose money was or may have been taken.
   */
  create(link: NewLink): Promise<'created' | 'exists'>;
  /** The live link with the merchant's paymentReference, if the request with this hash created it. */
  findCreated(link: NewLink, requestHash: Uint8Array): Promise<Link | undefined>;
  /** Moves the link forward, never backward. */
  moveTo(key: LinkKey, state: LinkStateId): Promise<void>;
  /** `notYet` if the clock of the database has not reached the time of expiry. */
  expire(key: LinkKey): Promise<'done' | 'notYet'>;
  /** A link of a tenant, with the last tap on it. */
  findOwned(tenant: Tenant, id: string): Promise<{ link: Link; tap: Transaction | undefined } | undefined>;
  /** The last tap with a merchantReference, or on the link with this paymentReference. */
  findTap(tenant: Tenant, merchantReference: string): Promise<Transaction | undefined>;
  /** The tap on a link, if there is one. */
  findTapOf(link: Link): Promise<Transaction | undefined>;
  /** Whether no transaction uses a merchantReference yet. */
  isUnused(link: Link, merchantReference: string): Promise<boolean>;
  /** The only merchant of a tenant; undefined if there are several, or none. */
  onlyMerchant(tenant: Tenant): Promise<string | undefined>;
}

/** The identity of a payment app: the link whose token it holds. */
export interface IntentClaims extends LinkKey {
  readonly merchantId: string;
}

/** Tokens that give any holder access to one link until it expires. */
export interface IntentTokens {
  issue(link: Pick<NewLink, 'acquirerId' | 'id' | 'merchantId' | 'expiresAtMs'>): Promise<string>;
}

/** The identity of an app that creates intents: always for one merchant. */
export interface IntentSession {
  readonly acquirerId: number;
  readonly merchantId: string;
}
