import { AuthError } from '../../errors.ts';
import type { Principal } from '../../transactions/model/principal.ts';
import type { MerchantTokenVerifier } from '../issuers/verify-merchant-token.ts';
import type { AppTokens } from './app-tokens.ts';

/** As whom a tap and all that follows it is submitted. */
export interface TapTokens {
  /** @throws AuthError */
  verify(token: string): Promise<Principal>;
}

/**
 * A merchant's backend signs for its taps; a payment app that holds no such token pays the one link or intent whose own token
 * it was given. The merchant's come first: they are many, and known by their hash.
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
