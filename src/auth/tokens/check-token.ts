import type { TokenCheckName } from '#schemas/tokens';
import { AuthError } from '../../errors.ts';
import type { ApiKeyOwner } from '../api-key.ts';
import { includesTenant } from '../includes-tenant.ts';
import type { IssuerKeys, RegisteredIssuers } from '../issuers/issuer-keys.ts';
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
      const owners = [...(await registered.find(claims.iss)), ...registered.keySets(claims.iss)].map(
        ({ owner }) => owner,
      );
      const isOwn = owners.some((owner) => asker === 'operator' || includesTenant(asker, owner));
      if (!isOwn) return 'issuer';
      if ((await keys.find(claims.iss, kid)).length === 0) return 'keySet';
      await tokens.verify(token);
      return undefined;
    } catch (error) {
      if (!(error instanceof AuthError)) throw error;
      return error.check as TokenCheckName;
    }
  };
}
