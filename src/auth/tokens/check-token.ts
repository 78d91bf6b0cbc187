import type { TokenCheckName } from '#schemas/tokens';
import { AuthError } from '../../errors.ts';
import type { Tenant } from '../../transactions/ports/store-ports.ts';
import type { ApiKeyOwner } from '../api-key.ts';
import { includesTenant } from '../includes-tenant.ts';
import type { IssuerKeys, RegisteredIssuers, ScopedIssuer } from '../issuers/issuer-keys.ts';
import type { MerchantTokenVerifier } from '../issuers/verify-merchant-token.ts';
import { readToken } from './read-token.ts';

export interface TokenCheckerOptions {
  readonly tokens: MerchantTokenVerifier;
  /** What is registered, and with it what issuers publish. */
  readonly registered: RegisteredIssuers;
  readonly keys: IssuerKeys;
}

/** The first check that a token fails; undefined when it passes them all. */
export type CheckToken = (token: string, asker: ApiKeyOwner) => Promise<TokenCheckName | undefined>;

/**
 * Makes what tells the owner of an issuer why its tokens are refused. What can be read off a token is told to anyone; of an
 * issuer that is somebody else's, or ours, nothing is, as if nobody had registered it.
 */
export function createTokenCheck({ tokens, registered, keys }: TokenCheckerOptions): CheckToken {
  return async (token, asker) => {
    try {
      const { claims, kid } = readToken(token);
      const issuers = registered.acquirersOf(claims.iss).map((acquirerId) => ({ acquirerId, name: claims.iss }));
      const own: ScopedIssuer[] = [];
      for (const issuer of issuers) if (await isOfAsker(registered, issuer, asker)) own.push(issuer);
      if (own.length === 0) return 'issuer';
      const found = await Promise.all(own.map((issuer) => keys.find(issuer, kid)));
      if (found.flat().length === 0) return 'keySet';
      const { keyOwner } = await tokens.verify(token);
      // Good by the key of somebody else, who registered an issuer of the same name.
      return includes(asker, keyOwner) ? undefined : 'signature';
    } catch (error) {
      if (!(error instanceof AuthError)) throw error;
      return error.check as TokenCheckName;
    }
  };
}

async function isOfAsker(registered: RegisteredIssuers, issuer: ScopedIssuer, asker: ApiKeyOwner): Promise<boolean> {
  const registrations = [...(await registered.find(issuer)), ...registered.keySets(issuer)];
  return registrations.some(({ owner }) => includes(asker, owner));
}

function includes(asker: ApiKeyOwner, owner: Tenant): boolean {
  return asker === 'operator' || includesTenant(asker, owner);
}
