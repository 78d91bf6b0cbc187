import { createHmac, hash, randomBytes } from 'node:crypto';
import { AuthError } from '../../basics/errors.ts';
import { isSameSecret } from '../../codecs/crypto/mac.ts';
import type { Administrator } from '../api-key.ts';
import { actorOfIdentity, type ProviderIdentity, userOfIdentity } from '../oidc/oidc-provider.ts';
import { INSTALLATION_OWNER, type PortalUser, type PortalUsers, scopesOfUser } from './portal-user.ts';

/**
 * The sessions of people at the console. The cookie is a random secret; the database stores only its hash. A second
 * value derived from the secret must be repeated in a header with every action (a page of another site can cause the
 * cookie to be sent, but cannot read this value).
 *
 * A screen may stay open for a shift and continues to show its data. A person who reads transactions or acts must
 * have done so within the last 15 minutes, or logs in again (PCI DSS 4.0 8.2.8).
 */
export const SESSION_SECONDS = 12 * 3_600;
const IDLE_SECONDS = 15 * 60;
/** 256 bits cannot be guessed, so the hash needs no salt. */
const SECRET_BYTES = 32;
const SECRET = /^[\w-]{43}$/;
/** Minimum interval between two writes while a person acts. */
const ACT_RECORDED_EVERY_SECONDS = 30;

/** Where a session began. */
export interface SessionOrigin {
  /** IP address of the client. */
  readonly address: string;
  /** The browser, in its own words. */
  readonly agent: string;
}

/** A session that begins. */
export interface NewSession extends SessionOrigin {
  readonly acquirerId: number;
  readonly userId: string;
  /** Who the person is and may do, if an identity provider says so; undefined for a user with a password. */
  readonly identity: ProviderIdentity | undefined;
}

/** A session as it is stored. */
export interface StoredSession {
  /** Names the session where its secret must not appear. */
  readonly id: string;
  readonly identity: ProviderIdentity | undefined;
  readonly acquirerId: number;
  readonly userId: string;
  readonly isOfBlockedAcquirer: boolean;
  readonly beganSecondsAgo: number;
  readonly actedSecondsAgo: number;
  /** Milliseconds since 1970. */
  readonly begunAtMs: number;
}

export interface SessionStore {
  begin(secretHash: Uint8Array, session: NewSession): Promise<void>;
  find(secretHash: Uint8Array): Promise<StoredSession | undefined>;
  recordAct(secretHash: Uint8Array): Promise<void>;
  /** @returns whether an identity provider had authenticated the person */
  end(secretHash: Uint8Array): Promise<{ readonly isOfProvider: boolean }>;
}

/** A person at the console. */
export interface PortalSession {
  readonly id: string;
  readonly user: PortalUser;
  /** Acquirer whose transactions and switches the user sees; undefined for the whole installation. */
  readonly acquirerId: number | undefined;
  /** Whether the user may act or only read. */
  readonly mayAct: boolean;
  /** The value that actions must repeat. */
  readonly csrfToken: string;
  readonly secondsLeft: number;
  /** Whether the user must set up a second factor before anything else. */
  readonly mustEnrol: boolean;
}

/** Why a session is needed: see `find`. */
export type SessionUse = 'watch' | 'follow' | 'act';

export class PortalSessions {
  readonly #options;

  constructor(options: {
    readonly sessions: SessionStore;
    readonly users: PortalUsers;
    /** Whether the present settings still give a person of a provider this role. */
    readonly isGranted: (identity: ProviderIdentity) => boolean;
    readonly mustEnrol: (user: PortalUser) => boolean;
  }) {
    this.#options = options;
  }

  /**
   * @returns the secret for the cookie
   * @throws AuthError FORBIDDEN for users of integrators and merchants: the console shows data beyond theirs
   */
  async begin({ id, owner }: PortalUser, origin: SessionOrigin): Promise<string> {
    if (owner.integratorId !== undefined || owner.merchantId !== undefined) throw new AuthError('FORBIDDEN', 'owner');
    return this.#begin({ acquirerId: owner.acquirerId, userId: id, identity: undefined, ...origin });
  }

  /** A session of a person whom the identity provider has authenticated. @returns the secret for the cookie */
  async beginOfIdentity(identity: ProviderIdentity, origin: SessionOrigin): Promise<string> {
    const { id, owner } = userOfIdentity(identity);
    return this.#begin({ acquirerId: owner.acquirerId, userId: id, identity, ...origin });
  }

  async #begin(session: NewSession): Promise<string> {
    const secret = randomBytes(SECRET_BYTES).toString('base64url');
    await this.#options.sessions.begin(hashOf(secret), session);
    return secret;
  }

  /**
   * @param use `watch`: an automatic request for figures; `follow`: an automatic request for the transactions that a
   * person reads, which does not prolong the session; `act`: a request of the person
   * @throws AuthError UNAUTHORISED without a session, or with one that has expired or, except for figures, has been idle
   */
  async find(secret: string | undefined, use: SessionUse): Promise<PortalSession> {
    if (secret === undefined || !SECRET.test(secret)) throw new AuthError('UNAUTHORISED', 'session');
    const { sessions, users, isGranted } = this.#options;
    const secretHash = hashOf(secret);
    const stored = await sessions.find(secretHash);
    if (stored === undefined || stored.beganSecondsAgo >= SESSION_SECONDS)
      throw new AuthError('UNAUTHORISED', 'session');
    if (use !== 'watch' && stored.actedSecondsAgo >= IDLE_SECONDS) throw new AuthError('UNAUTHORISED', 'idle');
    const { identity } = stored;
    const user = identity ? userOfIdentity(identity) : await users.find(stored.acquirerId, stored.userId);
    const isOver = user === undefined || user.isBlocked || user.passwordChangedAtMs > stored.begunAtMs;
    // The role of the sign-in is stored with the session, so the reasons to withdraw it are looked up again.
    const isWithdrawn = stored.isOfBlockedAcquirer || (identity !== undefined && !isGranted(identity));
    if (isOver || isWithdrawn) throw new AuthError('UNAUTHORISED', 'user');
    if (use === 'act' && stored.actedSecondsAgo >= ACT_RECORDED_EVERY_SECONDS) await sessions.recordAct(secretHash);
    const mustEnrol = this.#options.mustEnrol(user);
    return { ...sessionOf(stored, user, secret), mustEnrol };
  }

  /** @returns the hash of the secret in Base64url; undefined for what is no secret of a session */
  hashOf(secret: string | undefined): string | undefined {
    return secret !== undefined && SECRET.test(secret) ? hashOf(secret).toString('base64url') : undefined;
  }

  /** @param secretHash as `hashOf` returned it */
  async endByHash(secretHash: string): Promise<void> {
    await this.#options.sessions.end(Buffer.from(secretHash, 'base64url'));
  }

  /** @returns whether there was a session of a person whom an identity provider had authenticated */
  async end(secret: string | undefined): Promise<{ readonly isOfProvider: boolean }> {
    if (secret === undefined || !SECRET.test(secret)) return { isOfProvider: false };
    return this.#options.sessions.end(hashOf(secret));
  }
}

function sessionOf(
  { id, beganSecondsAgo }: StoredSession,
  user: PortalUser,
  secret: string,
): Omit<PortalSession, 'mustEnrol'> {
  const { acquirerId } = user.owner;
  return {
    id,
    user,
    acquirerId: acquirerId === INSTALLATION_OWNER ? undefined : acquirerId,
    mayAct: user.role !== 'viewer',
    csrfToken: createHmac('sha256', secret).update('csrf').digest('base64url'),
    secondsLeft: SESSION_SECONDS - beganSecondsAgo,
  };
}

/** The header in which the page of the console repeats the token of its session. */
export const CSRF_HEADER = 'x-csrf-token';

/** The limit of the column in the admin events. */
const MAX_ACTOR_CHARS = 255;

/** The person as admin events name the author of a change. */
export function actorOf({ user }: Pick<PortalSession, 'user'>): string {
  // A name at the provider can change, or be that of a password user.
  if (user.provider) return actorOfIdentity(user.provider);
  return `user ${user.username}`.slice(0, MAX_ACTOR_CHARS);
}

/** The rights of a person for administrative operations. */
export function administratorOf(session: PortalSession): Administrator {
  const { user, acquirerId } = session;
  const owner = acquirerId === undefined ? 'operator' : user.owner;
  return { actor: actorOf(session), owner, scopes: new Set(scopesOfUser({ ...user, ...user.owner })) };
}

/** @throws AuthError FORBIDDEN without the session's own token */
export function checkToken({ csrfToken }: PortalSession, given: string | string[] | undefined): void {
  if (typeof given !== 'string' || !isSameSecret(given, csrfToken)) throw new AuthError('FORBIDDEN', 'csrf');
}

function hashOf(secret: string): Buffer {
  return hash('sha256', secret, 'buffer');
}
