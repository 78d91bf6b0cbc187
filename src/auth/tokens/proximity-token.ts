import { randomUUID } from 'node:crypto';
import { AuthError, RequestRejected } from '../../basics/errors.ts';
import type { Directory } from '../../payments/ports/directory-ports.ts';
import type { MerchantPrincipal } from '../issuers/verify-merchant-token.ts';
import type { OwnTokens } from './gateway-tokens.ts';

/** The right to a reader's token (interface 5): of the registered user, or claimed by the integrator's backend. */
const RIGHT = 'createMobileProximityToken';

export interface ProximityToken {
  readonly token: string;
  /** UUID. */
  readonly jwtId: string;
  /** Milliseconds since 1970. */
  readonly issuedAtMs: number;
  readonly expiresAtMs: number;
}

export interface ProximityTokensOptions {
  readonly tokens: OwnTokens;
  readonly directory: Pick<Directory, 'merchant' | 'user' | 'terminal'>;
  readonly lifetimeSeconds: number;
  /** Milliseconds since 1970. */
  readonly nowMs: () => number;
}

/**
 * Makes the function that creates tokens for readers (4.3). They repeat what the integrator's own token states about
 * the merchant and its terminal.
 *
 * @returns a function that throws AuthError FORBIDDEN without the right, RequestRejected (TOKEN_WITHOUT_TERMINAL)
 * with a pointer to each missing claim, or to a terminal that the merchant may not use (7.1)
 */
export function createProximityTokens({ tokens, directory, lifetimeSeconds, nowMs }: ProximityTokensOptions) {
  return async (principal: MerchantPrincipal): Promise<ProximityToken> => {
    const { acquirerId, merchantId, userClaim } = principal;
    const merchant = directory.merchant(acquirerId, merchantId);
    const user = merchant && directory.user(merchant, userClaim);
    if (!principal.permissions.has(RIGHT) && !user?.permissions.includes(RIGHT))
      throw new AuthError('FORBIDDEN', 'scope');
    const faults = faultsOf(principal, directory);
    if (faults.length > 0) throw new RequestRejected('TOKEN_WITHOUT_TERMINAL', faults);
    // Token times are in whole seconds.
    const issuedAtMs = Math.floor(nowMs() / 1_000) * 1_000;
    const expiresAtMs = issuedAtMs + lifetimeSeconds * 1_000;
    const jwtId = randomUUID();
    const token = await tokens.sign('proximity', { ...claimsOf(principal), jti: jwtId, exp: expiresAtMs / 1_000 });
    return { token, jwtId, issuedAtMs, expiresAtMs };
  };
}

function faultsOf(principal: MerchantPrincipal, directory: Pick<Directory, 'terminal'>) {
  const { merchantName, mcc, xTid } = principal;
  const named = { mbn: merchantName, mcc, 'x-tid': xTid };
  const missing = Object.entries(named).filter(([, value]) => value === null);
  const faults = missing.map(([claim]) => ({ pointer: `/claims/${claim}`, detail: 'is missing' }));
  if (xTid !== null && !directory.terminal(principal, xTid)) {
    faults.push({ pointer: '/claims/x-tid', detail: 'must be a terminal that the merchant may use' });
  }
  return faults;
}

function claimsOf({ acquirerId, merchantId, userClaim, merchantName, mcc, xTid, profileName }: MerchantPrincipal) {
  const profile = profileName === null ? {} : { spCfg: profileName };
  return { sub: merchantId, usr: userClaim, mbn: merchantName, mcc, 'x-tid': xTid, ...profile, acquirerId };
}
