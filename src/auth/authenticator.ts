import type { Scope } from '#schemas/scopes';
import { AuthError, NotFound } from '../basics/errors.ts';
import { admitUser } from '../payments/decisions/admit.ts';
import type { Directory } from '../payments/ports/directory-ports.ts';
import type { Tenant } from '../payments/ports/store-ports.ts';
import { type Administrator, type ApiKeyVerifier, requireScope } from './api-key.ts';
import type { Merchants } from './issuers/issuer-keys.ts';
import type { MerchantPrincipal, MerchantTokenVerifier } from './issuers/verify-merchant-token.ts';
import { administratorOf, CSRF_HEADER, type PortalSession } from './portal/portal-session.ts';
import { mayUser, type PortalUser } from './portal/portal-user.ts';
import { includesTenant } from './tokens/check-token.ts';
import type { OwnToken, OwnTokens } from './tokens/gateway-tokens.ts';
import type { LoginTokens } from './tokens/login-tokens.ts';
import { bearerToken } from './tokens/read-token.ts';

/** Scopes of the routes that accept the token of a merchant's backend. The caller that adds a key for them needs all. */
export const MERCHANT_TOKEN_SCOPES = ['transactions:read', 'transactions:refund', 'devices:manage'] as const;
type MerchantTokenScope = (typeof MERCHANT_TOKEN_SCOPES)[number];

export interface CredentialHeaders {
  readonly authorization?: string | undefined;
  readonly 'x-api-key'?: string | string[] | undefined;
  /** Present in requests of the console's page, whose cookie then identifies the person. */
  readonly [CSRF_HEADER]?: string | string[] | undefined;
  readonly cookie?: string | undefined;
  readonly 'sec-fetch-site'?: string | string[] | undefined;
}

/** Finds the person at the console who makes a request. @throws AuthError without a session, its token, or its page */
export type FindPerson = (headers: CredentialHeaders) => Promise<PortalSession>;

/** Identity of a Bearer token. */
type Bearer =
  | { readonly kind: 'merchant'; readonly principal: MerchantPrincipal }
  | { readonly kind: 'login'; readonly user: PortalUser }
  /** Another use: a token for a device or an app. */
  | { readonly kind: 'device'; readonly token: OwnToken };

/** Determines the identity of a request from `x-api-key`, Bearer, or both, which must then have the same owner. */
export class Authenticator {
  readonly #options;

  constructor(options: {
    readonly tokens: MerchantTokenVerifier;
    readonly apiKeys: ApiKeyVerifier;
    readonly ownTokens: OwnTokens;
    readonly loginTokens: LoginTokens;
    readonly merchants: Merchants;
    readonly directory: Pick<Directory, 'merchant' | 'user'>;
    readonly findPerson: FindPerson;
  }) {
    this.#options = options;
  }

  /**
   * Returns the tenant that may read transactions or use another `scope`: the owner of the key or token. Accepted
   * tokens are those of a merchant's backend, and those of portal users whose role or rights allow it.
   *
   * @throws AuthError for a credential that is missing, refused, or of another tenant than the second one; Forbidden
   * for a blocked user
   */
  async owner(headers: CredentialHeaders, scope: MerchantTokenScope = 'transactions:read'): Promise<Tenant> {
    return this.#owner(headers, scope, (bearer) => this.#ownerOfBearer(bearer, scope));
  }

  /**
   * As `owner`, with the user that a merchant's token names. The user is null for keys and portal users: who has the scope
   * by them administers everything that belongs to the owner.
   */
  async ownerAndUser(
    headers: CredentialHeaders,
    scope: MerchantTokenScope,
  ): Promise<{ readonly owner: Tenant; readonly user: string | null }> {
    let user: string | null = null;
    const owner = await this.#owner(headers, scope, (bearer) => {
      if (bearer.kind === 'merchant') user = bearer.principal.userClaim;
      return this.#ownerOfBearer(bearer, scope);
    });
    return { owner, user };
  }

  /** As `owner`, but with any rights: a caller may always learn to whom its credential belongs. */
  async holder(headers: CredentialHeaders): Promise<Tenant> {
    return this.#owner(headers, undefined, (bearer) => this.#ownerOfBearer(bearer, undefined));
  }

  /**
   * Returns the tenant that may create payments, or do what else only servers and people may do: the owner of a key
   * with the scope, or of a portal user whose role or rights allow it. Tokens that devices hold are refused, both
   * those of merchants' backends and those of the gateway.
   *
   * @throws AuthError for a credential that is missing, refused, a device's, or of another tenant than the second
   * one; Forbidden for a blocked user
   */
  async creator(headers: CredentialHeaders, scope: Scope): Promise<Tenant> {
    return this.#owner(headers, scope, (bearer) => {
      if (bearer.kind !== 'login') throw new AuthError('FORBIDDEN', 'device');
      return ownerOfUser(bearer.user, scope);
    });
  }

  /**
   * Returns the integrator of its own key. A merchant's key or token alone cannot act for the integrator's other
   * merchants. With `needsBearer`, a token is also required: one that the integrator itself signed, or the login of its
   * portal user who administers it or has the scope. An optional token must be one of these, too.
   *
   * @throws AuthError for a credential that is missing, refused, or of another tenant
   */
  async integrator(
    headers: CredentialHeaders,
    { scope, needsBearer }: { readonly scope: Scope; readonly needsBearer: boolean },
  ): Promise<{ acquirerId: number; integratorId: number }> {
    const key = headers['x-api-key'];
    if (typeof key !== 'string') throw new AuthError('UNAUTHORISED', 'key');
    const { acquirerId, integratorId, merchantId } = await this.#ownerOfKey(key, scope);
    if (integratorId === undefined || merchantId !== undefined) throw new AuthError('FORBIDDEN', 'owner');
    if (needsBearer || headers.authorization !== undefined) {
      const bearer = await this.#bearer(headers.authorization);
      const signer = signerOf(bearer, scope);
      const isSame = signer.acquirerId === acquirerId && signer.integratorId === integratorId;
      if (!isSame || signer.merchantId !== undefined) throw new AuthError('FORBIDDEN', 'owner');
    }
    return this.#unblocked({ acquirerId, integratorId });
  }

  /**
   * Accepts callers that may configure an acquirer: the operator, or the acquirer with its own key, and people of either
   * at the console. No token is accepted, because devices hold tokens.
   *
   * @param acquirerId from the URL
   * @throws AuthError for a credential that is missing, refused, or has lesser rights; NotFound for a key of another
   * acquirer, as if this acquirer did not exist
   */
  async administrator(headers: CredentialHeaders, acquirerId: string, scope: Scope): Promise<Administrator> {
    const principal = await this.keyAlone(headers, scope);
    const { owner } = principal;
    if (owner === 'operator') return principal;
    if (owner.integratorId !== undefined || owner.merchantId !== undefined) throw new AuthError('FORBIDDEN', 'owner');
    if (String(owner.acquirerId) !== acquirerId) throw new NotFound();
    return principal;
  }

  /**
   * Returns the holder of any API key, or a person at the console, for routes that accept no token.
   *
   * @param scope undefined if any key is accepted
   * @throws AuthError for a key that is missing, refused or without the scope, and for any token
   */
  async keyAlone(headers: CredentialHeaders, scope?: Scope): Promise<Administrator> {
    const key = headers['x-api-key'];
    if (headers.authorization !== undefined) {
      await this.#bearer(headers.authorization);
      throw new AuthError('FORBIDDEN', 'bearer');
    }
    const administrator = await this.#administrator(headers, key);
    if (scope !== undefined) requireScope(administrator, scope);
    if (administrator.owner !== 'operator') await this.#unblocked(administrator.owner);
    return administrator;
  }

  async #administrator(headers: CredentialHeaders, key: CredentialHeaders['x-api-key']): Promise<Administrator> {
    if (isOfConsole(headers)) return administratorOf(await this.#options.findPerson(headers));
    if (typeof key !== 'string') throw new AuthError('UNAUTHORISED', 'key');
    const { keyId, owner, scopes } = await this.#options.apiKeys.verify(key);
    return { actor: `key ${keyId}`, owner, scopes };
  }

  /**
   * Refuses credentials of devices where no credential is needed. Anything else is accepted: a user who logs in again
   * may still send the expired session.
   *
   * @throws AuthError FORBIDDEN
   */
  async refuseDevices({ authorization }: CredentialHeaders): Promise<void> {
    if (authorization === undefined) return;
    const bearer = await this.#bearer(authorization).catch(() => undefined);
    if (bearer !== undefined && bearer.kind !== 'login') throw new AuthError('FORBIDDEN', 'device');
  }

  /**
   * Names the credential of a request, the same for each of its requests: a key's id, a user, the identity for which
   * an issuer signs, one token of the gateway, or a session of the console.
   *
   * @throws AuthError for one that is missing or refused
   */
  async credential(headers: CredentialHeaders): Promise<string> {
    if (isOfConsole(headers)) return `session ${(await this.#options.findPerson(headers)).id}`;
    const key = headers['x-api-key'];
    const byKey = typeof key === 'string' ? await this.#options.apiKeys.verify(key) : undefined;
    if (byKey !== undefined && headers.authorization === undefined) return `key ${byKey.keyId}`;
    return JSON.stringify([byKey?.keyId, ...nameOf(await this.#bearer(headers.authorization))]);
  }

  async #owner(
    headers: CredentialHeaders,
    scope: Scope | undefined,
    ownerOf: (bearer: Bearer) => Tenant,
  ): Promise<Tenant> {
    const key = headers['x-api-key'];
    const byKey = typeof key === 'string' ? await this.#ownerOfKey(key, scope) : undefined;
    if (byKey !== undefined && headers.authorization === undefined) return this.#unblocked(byKey);
    const byToken = ownerOf(await this.#bearer(headers.authorization));
    if (byKey !== undefined && !includesTenant(byKey, byToken)) throw new AuthError('FORBIDDEN', 'owner');
    return this.#unblocked(byToken);
  }

  /** @throws AuthError, Forbidden */
  async #bearer(authorization: string | undefined): Promise<Bearer> {
    const { tokens, ownTokens, loginTokens, directory } = this.#options;
    const text = bearerToken(authorization);
    if (!ownTokens.isOwn(text)) {
      const principal = await tokens.verify(text);
      admitUser(directory, principal);
      return { kind: 'merchant', principal };
    }
    const token = await ownTokens.verifyAny(text);
    return token.use === 'login' ? { kind: 'login', user: await loginTokens.userOf(token) } : { kind: 'device', token };
  }

  #ownerOfBearer(bearer: Bearer, scope: Scope | undefined): Tenant {
    if (bearer.kind === 'login') return ownerOfUser(bearer.user, scope);
    if (bearer.kind === 'device') throw new AuthError('FORBIDDEN', 'use');
    const { principal } = bearer;
    if (scope === 'transactions:refund' && !this.#mayRefund(principal)) throw new AuthError('FORBIDDEN', 'scope');
    const { acquirerId, integratorId, merchantId } = principal;
    return { acquirerId, integratorId, merchantId };
  }

  /**
   * Phones also hold these tokens. A lost one must not refund money unless its backend, or its user's record, allows
   * it.
   */
  #mayRefund({ permissions, acquirerId, merchantId, userClaim }: MerchantPrincipal): boolean {
    const { directory } = this.#options;
    const merchant = directory.merchant(acquirerId, merchantId);
    const user = merchant && directory.user(merchant, userClaim);
    return permissions.has('transactions:refund') || user?.permissions.includes('transactions:refund') === true;
  }

  async #ownerOfKey(text: string, scope: Scope | undefined): Promise<Tenant> {
    const principal = await this.#options.apiKeys.verify(text);
    if (scope !== undefined) requireScope(principal, scope);
    // The operator owns nothing of this kind; it uses a key of the acquirer.
    if (principal.owner === 'operator') throw new AuthError('FORBIDDEN', 'owner');
    return principal.owner;
  }

  /**
   * A blocked tenant is blocked with all its keys and users, and so are all tenants that belong to it. @throws
   * AuthError FORBIDDEN
   */
  #unblocked<Owner extends Tenant>(owner: Owner): Owner {
    if (this.#options.merchants.isBlocked(owner)) throw new AuthError('FORBIDDEN', 'blocked');
    return owner;
  }
}

/** A request with a key or token is one of a program, whichever other headers it has. */
function isOfConsole({ authorization, 'x-api-key': key, [CSRF_HEADER]: token }: CredentialHeaders): boolean {
  return token !== undefined && key === undefined && authorization === undefined;
}

/** Who vouches for a request beside a key: the key has the scope, so it is enough that the person administers the owner. */
function signerOf(bearer: Bearer, scope: Scope): Tenant {
  if (bearer.kind === 'device') throw new AuthError('FORBIDDEN', 'use');
  if (bearer.kind === 'merchant') return bearer.principal.keyOwner;
  return bearer.user.role === 'admin' ? bearer.user.owner : ownerOfUser(bearer.user, scope);
}

function ownerOfUser(user: PortalUser, scope: Scope | undefined): Tenant {
  if (scope !== undefined && !mayUser(user, scope)) throw new AuthError('FORBIDDEN', 'scope');
  return user.owner;
}

function nameOf(bearer: Bearer): readonly unknown[] {
  if (bearer.kind === 'login') return ['user', bearer.user.owner.acquirerId, bearer.user.id];
  if (bearer.kind === 'device') return ['token', bearer.token.claims.jti];
  const { issuer, acquirerId, merchantId, userClaim } = bearer.principal;
  return [issuer, acquirerId, merchantId, userClaim];
}
