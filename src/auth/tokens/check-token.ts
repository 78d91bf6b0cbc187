import type { TokenCheckName } from '#schemas/tokens';
import { AuthError } from '../../basics/errors.ts';
import type { Tenant } from '../../payments/ports/store-ports.ts';
import type { ApiKeyOwner } from '../api-key.ts';
import type { IssuerKeys, RegisteredIssuers, ScopedIssuer } from '../issuers/issuer-keys.ts';
import type { MerchantTokenVerifier } from '../issuers/verify-merchant-token.ts';
import { readToken } from './read-token.ts';

/** Whether `inner` is `outer` or belongs to it. */
export function includesTenant(outer: Tenant, inner: Tenant): boolean {
  return (
    outer.acquirerId === inner.acquirerId &&
    (outer.integratorId === undefined || outer.integratorId === inner.integratorId) &&
    (outer.merchantId === undefined || outer.merchantId === inner.merchantId)
  );
}

/** The first check that a token fails. `acquirers`, for the operator only: those that share the issuer. */
interface FailedCheck {
  readonly name: TokenCheckName;
  readonly acquirers?: readonly number[];
}

/** The first check that a token fails; undefined if it passes all. */
export type CheckToken = (token: string, asker: ApiKeyOwner) => Promise<FailedCheck | undefined>;

/**
 * Makes the function that reports to the owner of an issuer why its tokens are refused. Faults that are visible in
 * the token are reported to any caller. Nothing is reported about an issuer of another tenant or of the gateway, as
 * if it were not registered.
 */
export function createTokenCheck({
  tokens,
  registered,
  keys,
}: {
  readonly tokens: MerchantTokenVerifier;
  /** The registered issuers, with the keys that they publish. */
  readonly registered: RegisteredIssuers;
  readonly keys: IssuerKeys;
}): CheckToken {
  return async (token, asker) => {
    try {
      const { claims, kid } = readToken(token);
      const acquirers = registered.acquirersOf(claims.iss);
      const issuers = acquirers.map((acquirerId) => ({ acquirerId, name: claims.iss }));
      const own = issuers.filter((issuer) => isOfAsker(registered, issuer, asker));
      if (own.length === 0) return { name: 'issuer' };
      const found = await Promise.all(own.map((issuer) => keys.find(issuer, kid)));
      if (found.flat().length === 0) return { name: 'keySet' };
      const failed = await failedCheck(tokens, token, asker);
      return failed?.name === 'acquirer' && asker === 'operator' ? { ...failed, acquirers } : failed;
    } catch (error) {
      if (!(error instanceof AuthError)) throw error;
      return { name: error.check as TokenCheckName };
    }
  };
}

async function failedCheck(
  tokens: MerchantTokenVerifier,
  token: string,
  asker: ApiKeyOwner,
): Promise<FailedCheck | undefined> {
  try {
    const { keyOwner } = await tokens.verify(token);
    // The token is valid with the key of another tenant that registered an issuer of the same name.
    return includes(asker, keyOwner) ? undefined : { name: 'signature' };
  } catch (error) {
    if (!(error instanceof AuthError)) throw error;
    return { name: error.check as TokenCheckName };
  }
}

function isOfAsker(registered: RegisteredIssuers, issuer: ScopedIssuer, asker: ApiKeyOwner): boolean {
  const registrations = [...registered.known(issuer), ...registered.keySets(issuer)];
  return registrations.some(({ owner }) => includes(asker, owner));
}

function includes(asker: ApiKeyOwner, owner: Tenant): boolean {
  return asker === 'operator' || includesTenant(asker, owner);
}
