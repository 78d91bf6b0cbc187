import { AuthError } from '../errors.ts';
import type { Tenant } from '../transactions/ports.ts';
import { type ApiKeyVerifier, requireScope } from './api-key.ts';
import { bearerToken } from './bearer.ts';
import type { MerchantTokenVerifier } from './verify-merchant-token.ts';

/** The scope that lets a key read transactions. */
export const READ_TRANSACTIONS = 'transactions:read';

interface CredentialHeaders {
  readonly authorization?: string | undefined;
  readonly 'x-api-key'?: string | string[] | undefined;
}

/** Who may read: by `x-api-key`, by an integrator's Bearer, or by both, which must then speak for the same owner. */
export class Authenticator {
  readonly #tokens: MerchantTokenVerifier;
  readonly #apiKeys: ApiKeyVerifier;

  constructor(tokens: MerchantTokenVerifier, apiKeys: ApiKeyVerifier) {
    this.#tokens = tokens;
    this.#apiKeys = apiKeys;
  }

  /** @throws AuthError for a credential that is missing, refused, or of somebody else than the other one */
  async owner(headers: CredentialHeaders): Promise<Tenant> {
    const key = headers['x-api-key'];
    const byKey = typeof key === 'string' ? await this.#ownerOfKey(key) : undefined;
    if (byKey !== undefined && headers.authorization === undefined) return byKey;
    const { acquirerId, integratorId, merchantId } = await this.#tokens.verify(bearerToken(headers.authorization));
    const byToken: Tenant = { acquirerId, integratorId, merchantId };
    if (byKey !== undefined && !includes(byKey, byToken)) throw new AuthError('FORBIDDEN', 'owner');
    return byToken;
  }

  async #ownerOfKey(text: string): Promise<Tenant> {
    const principal = await this.#apiKeys.verify(text);
    requireScope(principal, READ_TRANSACTIONS);
    // The operator has no transactions of its own: it reads with a key of the acquirer.
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
