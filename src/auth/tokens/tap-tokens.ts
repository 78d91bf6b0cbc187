import { AuthError } from '../../basics/errors.ts';
import type { Principal } from '../../payments/model/principal.ts';
import type { MerchantTokenVerifier } from '../issuers/verify-merchant-token.ts';
import type { AppTokens } from './app-tokens.ts';

/** Identity of a tap and of all requests that follow it. */
export interface TapTokens {
  /** @throws AuthError */
  verify(token: string): Promise<Principal>;
}

/**
 * A merchant's backend signs tokens for its taps. A payment app without such a token pays only the link or intent
 * whose token it was given. Tokens of merchants are checked first: they are many, and known by hash.
 */
export function createTapTokens(merchants: MerchantTokenVerifier, apps: AppTokens): TapTokens {
  return {
    verify: async (token) => {
      try {
        return await merchants.verify(token);
      } catch (error) {
        const isForApps = error instanceof AuthError && error.code === 'JWT_INVALID' && apps.isOwn(token);
        if (!isForApps) throw error;
      }
      const { acquirerId, merchantId, id: consumerId } = await apps.open(token);
      return { acquirerId, merchantId, consumerId, userClaim: null, xTid: null, profileName: null };
    },
  };
}
