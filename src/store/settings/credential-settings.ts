import { randomBytes } from 'node:crypto';
import type pg from 'pg';
import type {
  NewApiKey,
  NewIssuerKey,
  NewUser,
  StoredApiKey,
  StoredIssuerKey,
  StoredUser,
} from '#schemas/admin-credentials';
import { SIGNING_ALGORITHMS, type SigningAlgorithm } from '#schemas/tokens';
import { type ApiKeyMode, createApiKey } from '../../auth/api-key.ts';
import { isPossessionProof, isReservedIssuer, readIssuerPem } from '../../auth/issuers/issuer-keys.ts';
import {
  domainFault,
  hashPassword,
  type LoginDomain,
  loginNameOf,
  passwordFault,
  userSubject,
} from '../../auth/portal/log-in.ts';
import { brokenRules, invalidValue, invalidValues, RequestRejected } from '../../basics/errors.ts';
import { ConcurrencyLimit } from '../../basics/limits/concurrency-limit.ts';
import type { Secret } from '../../codecs/bytes/secret.ts';
import { readCallbackUrl, URL_FAULTS, type UrlPolicy } from '../../outbound/guarded-fetch.ts';
import { removeTotp } from '../credentials/user-totp.ts';
import type { Database } from '../postgres/open-database.ts';
import { StoredSettings } from './acquirer-settings.ts';
import type { Change } from './admin-commit.ts';
import { findOwner, type NamedOwner, ownerAlone } from './find-owner.ts';
import type { SettingsTable } from './settings-table.ts';

/** One or two for each merchant of a large acquirer. */
const MAX_KEYS = 200_000;
const HOUR_MS = 3_600_000;

interface ApiKeyRow extends NewApiKey {
  readonly id: string;
  readonly mode: ApiKeyMode;
  readonly secretHash: Uint8Array;
}

const API_KEYS: SettingsTable<ApiKeyRow, StoredApiKey> = {
  kind: 'api key',
  table: 'api_keys',
  key: { name: 'id', column: 'id', from: 'settings' },
  namedBy: ['name', 'merchant_id'],
  most: MAX_KEYS,
  columns: {
    id: 'id',
    mode: 'mode',
    name: 'name',
    scopes: 'scopes',
    integratorId: 'integrator_id',
    merchantId: 'merchant_id',
    expiresAt: 'expires_at',
    secretHash: { column: 'secret_hash', as: null },
  },
  reads: { revokedAt: 'revoked_at', lastUsedAt: 'last_used_at' },
  removed: { column: 'revoked_at', isShown: true },
};

/** A stored key and its text, which is never shown again. */
export interface IssuedKey {
  readonly stored: StoredApiKey;
  readonly text: Secret<string>;
}

/** The API keys of acquirers, their integrators and merchants. A removed key is revoked: it stops working within 5 s. */
export class ApiKeySettings extends StoredSettings<ApiKeyRow, StoredApiKey> {
  readonly #mode: ApiKeyMode;

  constructor(database: Database, mode: ApiKeyMode) {
    super(database, API_KEYS);
    this.#mode = mode;
  }

  /** @throws NotFound, RequestRejected, AuthError FORBIDDEN: as `findOwner` */
  add(change: Change, wanted: NewApiKey): Promise<IssuedKey> {
    return this.inCommit(change, async (client) => {
      const owner = await findOwner(client, change, wanted);
      const { text, row } = this.#make(change, { ...wanted, ...owner });
      return { stored: await this.addIn(client, change, row), text };
    });
  }

  /**
   * Issues a copy of a key. The old key keeps working for `overlapHours`; the new one has the same lifetime as the old
   * one had.
   *
   * @throws NotFound; RequestRejected (API_KEY_EXPIRED)
   */
  rotate(change: Change, id: string, overlapHours: number): Promise<IssuedKey> {
    return this.inCommit(change, async (client) => {
      const old = await this.findIn(client, change, id);
      const nowMs = Date.now();
      const oldEndsAtMs = old.expiresAt === null ? Number.POSITIVE_INFINITY : Date.parse(old.expiresAt);
      if (old.revokedAt !== null || oldEndsAtMs <= nowMs) throw new RequestRejected('API_KEY_EXPIRED');
      const endsAtMs = Math.min(oldEndsAtMs, nowMs + overlapHours * HOUR_MS);
      await this.changeIn(client, change, id, { expiresAt: iso(endsAtMs) });
      const lifetimeMs = oldEndsAtMs - Date.parse(old.createdAt);
      const expiresAt = old.expiresAt === null ? null : iso(nowMs + lifetimeMs);
      const { name, scopes, integratorId, merchantId } = old;
      const { text, row } = this.#make(change, {
        ...{ name, integratorId, merchantId, expiresAt },
        scopes: scopes as NewApiKey['scopes'],
      });
      return { stored: await this.addIn(client, change, row), text };
    });
  }

  #make({ acquirerId }: Change, wanted: NewApiKey): { readonly text: Secret<string>; readonly row: ApiKeyRow } {
    const { name, scopes, integratorId, merchantId, expiresAt } = wanted;
    const owner = { acquirerId, integratorId: integratorId ?? undefined, merchantId: merchantId ?? undefined };
    const expiresAtMs = expiresAt === null ? null : Date.parse(expiresAt);
    const { text, record } = createApiKey({ mode: this.#mode, owner, scopes, name, expiresAtMs });
    return { text, row: { ...wanted, id: record.id, mode: this.#mode, secretHash: record.secretHash } };
  }
}

function iso(ms: number): string {
  return new Date(ms).toISOString();
}

/** The tills and back offices of a large acquirer. */
const MAX_USERS = 200_000;
/** A hash takes a core for 0.3 s and 128 MB; the other cores serve taps. */
const HASHES_AT_ONCE = 1;
/** About five seconds of waiting on an idle machine. */
const HASHES_WAITING = 16;
/** 120 bits: 20 characters to be typed once. */
const MADE_PASSWORD_BYTES = 15;

interface UserRow extends Omit<NewUser, 'password'> {
  /** A new hash ends the user's sessions. */
  readonly passwordHash: string;
}

const USERS: SettingsTable<UserRow, StoredUser> = {
  kind: 'user',
  table: 'users',
  key: { name: 'id', column: 'id', from: 'database' },
  namedBy: ['username', 'merchant_id'],
  most: MAX_USERS,
  columns: {
    username: 'username',
    role: 'role',
    permissions: 'permissions',
    integratorId: 'integrator_id',
    merchantId: 'merchant_id',
    blocked: 'is_blocked',
    passwordHash: { column: 'password_hash', as: null },
  },
  reads: { lastLoginAt: 'last_login_at' },
};

/** A user, and the generated password; null if the request gave one. */
export interface CreatedUser {
  readonly stored: StoredUser;
  readonly password: string | null;
}

/** The portal users of acquirers, their integrators and merchants. */
export class UserSettings extends StoredSettings<UserRow, StoredUser> {
  readonly #line = new ConcurrencyLimit({ atOnce: HASHES_AT_ONCE, waitMost: HASHES_WAITING });
  readonly #domains: readonly LoginDomain[];

  constructor(database: Database, domains: readonly LoginDomain[] = []) {
    super(database, USERS);
    this.#domains = domains;
  }

  /**
   * @throws NotFound for an unknown acquirer; RequestRejected for a name in use or outside the acquirer's domains, a weak
   * password, or an unknown owner
   */
  async add(change: Change, { password: given, ...wanted }: NewUser): Promise<CreatedUser> {
    const username = wanted.username.normalize('NFKC');
    const fault = domainFault(this.#domains, change.acquirerId, username);
    if (fault) throw invalidValue('username', fault);
    const { made, passwordHash } = await this.#hash(given, username);
    const stored = await this.inCommit(change, async (client) => {
      const owner = ownerAlone(await findOwner(client, change, wanted));
      return this.addIn(client, change, { ...wanted, ...owner, username, passwordHash });
    });
    return { stored, password: made };
  }

  /** With `blocked: false`, also lifts a lockout by wrong logins. @throws NotFound */
  change(
    change: Change,
    id: string,
    settings: Partial<Pick<NewUser, 'role' | 'permissions' | 'blocked'>>,
  ): Promise<StoredUser> {
    return this.#changed(change, id, settings, settings.blocked === false);
  }

  #changed(change: Change, id: string, settings: Partial<UserRow>, liftsLockout: boolean): Promise<StoredUser> {
    return this.inCommit(change, async (client) => {
      const changed = await this.changeIn(client, change, id, settings);
      if (liftsLockout) await client.query('delete from login_tries where subject = $1', [subjectOf(changed)]);
      return changed;
    });
  }

  /**
   * Ends the user's sessions, and lifts a lockout by wrong logins. @returns the generated password, null if one was given. @throws NotFound, RequestRejected
   */
  async resetPassword(change: Change, id: string, given: string | null): Promise<string | null> {
    const { username } = await this.find(change, id);
    const { made, passwordHash } = await this.#hash(given, username);
    await this.#changed(change, id, { passwordHash }, true);
    return made;
  }

  /**
   * Removes the one-time codes of a user who has lost them, and ends the user's sessions. The user must set up new ones if
   * the installation requires them.
   *
   * @returns false if the user has none
   * @throws NotFound
   */
  async resetTotp(change: Change, id: string): Promise<boolean> {
    const { acquirerId, actor } = change;
    return this.inCommit(change, async (client) => {
      await this.findIn(client, change, id);
      return removeTotp(client, { acquirerId, userId: id }, actor, 'resetTotp');
    });
  }

  /** @throws RequestRejected for a password that is easily guessed; Overloaded if too many are being set */
  async #hash(given: string | null, username: string) {
    const made = given === null ? randomBytes(MADE_PASSWORD_BYTES).toString('base64url') : null;
    const fault = given !== null && passwordFault(given, username);
    if (fault) throw invalidValue('password', fault);
    const passwordHash = await this.#line.run(() => hashPassword(given ?? made!));
    return { made, passwordHash };
  }
}

/** The name under which the user's wrong logins are counted. */
function subjectOf({ username }: Pick<StoredUser, 'username'>): string {
  return userSubject(loginNameOf(username));
}

/** Every gateway holds all of them in memory; an integrator has one, and two during a rotation. */
const MAX_ISSUER_KEYS = 10_000;

interface IssuerKeyRow extends Omit<NewIssuerKey, 'algorithms' | 'proof'> {
  readonly algorithms: readonly SigningAlgorithm[];
  readonly provenAt: Date | null;
}

const ISSUER_KEYS: SettingsTable<IssuerKeyRow, StoredIssuerKey> = {
  kind: 'issuer key',
  table: 'issuer_keys',
  key: { name: 'id', column: 'id', from: 'database' },
  namedBy: ['issuer', 'kid', 'merchant_id'],
  most: MAX_ISSUER_KEYS,
  columns: {
    issuer: 'issuer',
    kid: 'kid',
    integratorId: 'integrator_id',
    merchantId: 'merchant_id',
    algorithms: 'algorithms',
    publicKey: 'public_key',
    jwksUrl: 'jwks_url',
    provenAt: 'proven_at',
  },
  reads: { revokedAt: 'revoked_at' },
  removed: { column: 'revoked_at', isShown: true },
};

const PROOF_FAULT =
  'must be a JWS (typ issuer-key-proof+jwt) of the private key, with iss, aud, acquirerId, and iat within 7 days';

export interface IssuerRules {
  /** The URLs that are allowed for JWKS. */
  readonly policy: UrlPolicy;
  /** The issuer of the gateway's own tokens, and the audience of proofs. */
  readonly ownName: string;
}

/**
 * The keys with which backends of integrators and merchants sign tokens. A second `kid` allows rotation. A removed key is
 * revoked: from then on no signature of it is accepted.
 */
export class IssuerKeySettings extends StoredSettings<IssuerKeyRow, StoredIssuerKey> {
  readonly #rules: IssuerRules;

  constructor(database: Database, rules: IssuerRules) {
    super(database, ISSUER_KEYS);
    this.#rules = rules;
  }

  /**
   * @throws NotFound for an unknown acquirer; RequestRejected for an unusable key, and for an issuer of another owner
   */
  async add(change: Change, wanted: NewIssuerKey): Promise<StoredIssuerKey> {
    const row = await this.#checked(wanted, change.acquirerId);
    return this.inCommit(change, async (client) => {
      const owner = ownerAlone(await findOwner(client, change, wanted));
      await claimIssuer(client, change.acquirerId, row.issuer, owner);
      return this.addIn(client, change, { ...row, ...owner });
    });
  }

  /** @throws RequestRejected with a pointer to each fault */
  async #checked({ proof, ...wanted }: NewIssuerKey, acquirerId: number): Promise<IssuerKeyRow> {
    const { issuer, publicKey, jwksUrl, kid, integratorId, merchantId } = wanted;
    const isPem = publicKey !== null;
    const key = isPem ? readIssuerPem(publicKey) : undefined;
    const known = isPem ? key?.algorithms : SIGNING_ALGORITHMS;
    const registration = { issuer, acquirerId, audience: this.#rules.ownName };
    const isProven = key !== undefined && proof !== null && (await isPossessionProof(proof, key, registration));
    const url = jwksUrl === null ? undefined : readCallbackUrl(jwksUrl, this.#rules.policy);
    const faults = brokenRules([
      [isReservedIssuer(wanted.issuer, this.#rules.ownName), 'issuer', 'is reserved for tokens of the gateway'],
      [integratorId === null && merchantId === null, 'integratorId', 'neither an integrator nor a merchant'],
      [isPem === (jwksUrl !== null), 'publicKey', 'either a public key or the URL of a JWKS'],
      [known === undefined, 'publicKey', 'no public key as PEM of RSA (2,048 to 8,192 bits), P-256 or Ed25519'],
      [typeof url === 'string', 'jwksUrl', URL_FAULTS[url as keyof typeof URL_FAULTS]],
      [key !== undefined && !isProven, 'proof', PROOF_FAULT],
      [jwksUrl !== null && proof !== null, 'proof', 'keys of a JWKS have none'],
      [jwksUrl !== null && kid !== null, 'kid', 'keys of a JWKS bring their own'],
      [
        known !== undefined && (wanted.algorithms ?? []).some((each) => !known.includes(each)),
        'algorithms',
        'not what keys of this kind sign with',
      ],
    ]);
    if (faults.length > 0) throw invalidValues(faults);
    return {
      ...wanted,
      algorithms: wanted.algorithms ?? known!,
      jwksUrl: url instanceof URL ? url.href : null,
      provenAt: isProven ? new Date() : null,
    };
  }
}

// At one acquirer all keys of an issuer belong to one owner, permanently. Keys that other acquirers register with the
// same issuer name do not matter and are not visible.
const OTHER_OWNER = `
select from issuer_keys
where acquirer_id = $2 and issuer = $1 and (integrator_id, merchant_id) is distinct from ($3::integer, $4::text) limit 1`;

const OTHER_JWKS = `
select from issuer_keys where acquirer_id = $2 and issuer = $1 and jwks_url is not null and revoked_at is null limit 1`;

async function claimIssuer(
  client: pg.ClientBase,
  acquirerId: number,
  issuer: string,
  owner: NamedOwner,
): Promise<void> {
  const { rowCount } = await client.query(OTHER_OWNER, [issuer, acquirerId, owner.integratorId, owner.merchantId]);
  if (rowCount !== 0) throw new RequestRejected('ISSUER_HAS_OTHER_OWNER');
  const jwks = await client.query(OTHER_JWKS, [issuer, acquirerId]);
  if (jwks.rowCount !== 0) throw new RequestRejected('ISSUER_HAS_JWKS');
}
