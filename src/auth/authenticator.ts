import { AuthError, NotFound } from '../errors.ts';
import type { Tenant } from '../transactions/ports.ts';
import { type ApiKeyPrincipal, type ApiKeyVerifier, requireScope } from './api-key.ts';
import { bearerToken } from './bearer.ts';
import type { Scope } from './scopes.ts';
import type { MerchantTokenVerifier } from './verify-merchant-token.ts';

interface CredentialHeaders {
  readonly authorization?: string | undefined;
  readonly 'x-api-key'?: string | string[] | undefined;
}

/** As whom a request speaks: by `x-api-key`, by Bearer, or by both, which must then be of the same owner. */
export class Authenticator {
  readonly #tokens: MerchantTokenVerifier;
  readonly #apiKeys: ApiKeyVerifier;

  constructor(tokens: MerchantTokenVerifier, apiKeys: ApiKeyVerifier) {
    this.#tokens = tokens;
    this.#apiKeys = apiKeys;
  }

  /**
   * Who may read transactions, or do what else a key needs `scope` for: whoever the key or the token is of.
   *
   * @throws AuthError for a credential that is missing, refused, or of somebody else than the other one
   */
  async owner(headers: CredentialHeaders, scope: Scope = 'transactions:read'): Promise<Tenant> {
    const key = headers['x-api-key'];
    const byKey = typeof key === 'string' ? await this.#ownerOfKey(key, scope) : undefined;
    if (byKey !== undefined && headers.authorization === undefined) return byKey;
    const { acquirerId, integratorId, merchantId } = await this.#tokens.verify(bearerToken(headers.authorization));
    const byToken: Tenant = { acquirerId, integratorId, merchantId };
    if (byKey !== undefined && !includes(byKey, byToken)) throw new AuthError('FORBIDDEN', 'owner');
    return byToken;
  }

  /**
   * The integrator whose own key it is: a merchant's key or token alone does not speak for all the others. `needsBearer`:
   * there must also be a token, signed by the integrator itself; one that is there anyway must be, too.
   *
   * @throws AuthError for a credential that is missing, refused, or of somebody else
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
      const { keyOwner } = await this.#tokens.verify(bearerToken(headers.authorization));
      const isSame = keyOwner.acquirerId === acquirerId && keyOwner.integratorId === integratorId;
      if (!isSame || keyOwner.merchantId !== undefined) throw new AuthError('FORBIDDEN', 'owner');
    }
    return { acquirerId, integratorId };
  }

  /**
   * Whoever may configure an acquirer: the operator, or the acquirer by a key of its own. No token does it, whoever signed
   * it: devices hold tokens.
   *
   * @param acquirerId as the address has it
   * @throws AuthError for a credential that is missing, refused, or of somebody with lesser rights; NotFound for a key of
   *   another acquirer, which is answered as if there were no such acquirer
   */
  async administrator(headers: CredentialHeaders, acquirerId: string, scope: Scope): Promise<ApiKeyPrincipal> {
    const key = headers['x-api-key'];
    if (headers.authorization !== undefined) {
      await this.#tokens.verify(bearerToken(headers.authorization));
      throw new AuthError('FORBIDDEN', 'bearer');
    }
    if (typeof key !== 'string') throw new AuthError('UNAUTHORISED', 'key');
    const principal = await this.#apiKeys.verify(key);
    requireScope(principal, scope);
    const { owner } = principal;
    if (owner === 'operator') return principal;
    if (owner.integratorId !== undefined || owner.merchantId !== undefined) throw new AuthError('FORBIDDEN', 'owner');
    if (String(owner.acquirerId) !== acquirerId) throw new NotFound();
    return principal;
  }

  /**
   * Names the credential of a request, the same for each request by it: a key's id, or as whom an issuer's tokens speak.
   *
   * @throws AuthError for one that is missing or refused
   */
  async credential(headers: CredentialHeaders): Promise<string> {
    const key = headers['x-api-key'];
    const byKey = typeof key === 'string' ? await this.#apiKeys.verify(key) : undefined;
    if (byKey !== undefined && headers.authorization === undefined) return `key ${byKey.keyId}`;
    const token = await this.#tokens.verify(bearerToken(headers.authorization));
    return JSON.stringify([byKey?.keyId, token.issuer, token.acquirerId, token.merchantId, token.userClaim]);
  }

  async #ownerOfKey(text: string, scope: Scope): Promise<Tenant> {
    const principal = await this.#apiKeys.verify(text);
    requireScope(principal, scope);
    // The operator has nothing of this kind of its own: it uses a key of the acquirer.
    if (principal.owner === 'operator') throw new AuthError('FORBIDDEN', 'owner');
    return principal.owner;
  }
}

/** Whether `inner` is `outer` or one of its own. */
function includes(outer: Tenant, inner: Tenant): boolean {
  return (
    outer.acquirerId === inner.acquirerId &&
    (outer.integratorId === undefined || outer.integratorId === inner.integratorId) &&
    (outer.merchantId === undefined || outer.merchantId === inner.merchantId)
  );
}
