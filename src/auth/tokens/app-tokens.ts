import { randomUUID } from 'node:crypto';
import { intentSessionTokenClaims, intentTokenClaims } from '#schemas/tokens';
import { AuthError } from '../../basics/errors.ts';
import type { Principal } from '../../payments/ports/directory-ports.ts';
import type { IntentClaims, IntentSession, IntentTokens } from '../../payments/ports/store-ports.ts';
import type { Merchants } from '../issuers/issuer-keys.ts';
import type { MerchantTokenVerifier } from '../issuers/verify-merchant-token.ts';
import type { OwnTokens } from './gateway-tokens.ts';

/**
 * A tap that starts in a link's last second receives its responses, its PIN and its acknowledgement within this time:
 * two deadlines of 40 s, three PINs of 90 s each, and the same again. The link's row decides what may still start.
 */
const GRACE_SECONDS = 600;

/** The tokens of payment apps: for one link or intent (2.9), and for many intents of one merchant (2.10). */
export class AppTokens implements IntentTokens {
  readonly #tokens: OwnTokens;
  readonly #merchants: Merchants;
  readonly #nowMs: () => number;

  constructor(tokens: OwnTokens, merchants: Merchants, nowMs: () => number) {
    this.#tokens = tokens;
    this.#merchants = merchants;
    this.#nowMs = nowMs;
  }

  issue({ acquirerId, id, merchantId, expiresAtMs }: Parameters<IntentTokens['issue']>[0]): Promise<string> {
    const claims = { acquirerId, merchantId: asClaim(merchantId), txn: id };
    const exp = Math.floor(expiresAtMs / 1_000);
    return this.#tokens.sign('intent', { ...claims, sub: merchantId, jti: randomUUID(), exp });
  }

  issueSession({ acquirerId, merchantId }: IntentSession, minutes: number): Promise<string> {
    const claims = { acquirerId, merchantId: asClaim(merchantId) };
    const exp = Math.floor(this.#nowMs() / 1_000 + minutes * 60);
    return this.#tokens.sign('intentSession', { ...claims, sub: merchantId, jti: randomUUID(), exp });
  }

  isOwn(token: string): boolean {
    return this.#tokens.isOwn(token);
  }

  /**
   * @returns the link that a token opens; an expired token is accepted as long as a tap that started in time can take
   * @throws {AuthError} JWT_INVALID, also for a token of the gateway with another use; JWT_EXPIRED; FORBIDDEN if the
   * merchant was removed or blocked
   */
  async open(token: string): Promise<IntentClaims> {
    const claims = intentTokenClaims.safeParse(await this.#tokens.verify('intent', token, GRACE_SECONDS));
    if (!claims.success) throw new AuthError('JWT_INVALID', 'claims');
    const { acquirerId, txn, sub } = claims.data;
    await this.#check(acquirerId, sub);
    return { acquirerId, id: txn, merchantId: sub };
  }

  /** @throws {AuthError} as `open` does */
  async openSession(token: string): Promise<IntentSession> {
    const claims = intentSessionTokenClaims.safeParse(await this.#tokens.verify('intentSession', token));
    if (!claims.success) throw new AuthError('JWT_INVALID', 'claims');
    const { acquirerId, sub } = claims.data;
    await this.#check(acquirerId, sub);
    return { acquirerId, merchantId: sub };
  }

  async #check(acquirerId: number, merchantId: string): Promise<void> {
    const merchant = this.#merchants.findOwned({ acquirerId }, merchantId);
    if (!merchant) throw new AuthError('FORBIDDEN', 'owner');
    if (merchant.isBlocked) throw new AuthError('FORBIDDEN', 'blocked');
  }
}

/** A number if the id is numeric (contract, "Values") and a number can represent every digit. */
function asClaim(merchantId: string): string | number {
  const number = Number(merchantId);
  return Number.isSafeInteger(number) && String(number) === merchantId ? number : merchantId;
}

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
