import { randomUUID } from 'node:crypto';
import { loginTokenClaims } from '#schemas/tokens';
import { AuthError, Forbidden, RequestRejected } from '../../basics/errors.ts';
import type { Directory } from '../../payments/ports/directory-ports.ts';
import { RecentReads } from '../api-key.ts';
import type { MerchantPrincipal } from '../issuers/verify-merchant-token.ts';
import type { PortalUser, PortalUsers } from '../portal/portal-user.ts';
import type { OwnToken, OwnTokens } from './gateway-tokens.ts';

/**
 * The sessions of portal users. A token contains only the user's id. The user's tenant and rights are read from the
 * store, at most 4 s ago. Rights can therefore be removed, and a user blocked, during a session.
 */
export class LoginTokens {
  readonly lifetimeSeconds: number;
  readonly #tokens: OwnTokens;
  readonly #users: RecentReads<PortalUser | undefined>;
  readonly #nowMs: () => number;

  constructor({
    tokens,
    users,
    lifetimeSeconds,
    nowMs,
    monotonicMs,
  }: {
    readonly tokens: OwnTokens;
    readonly users: PortalUsers;
    readonly lifetimeSeconds: number;
    /** Milliseconds since 1970. */
    readonly nowMs: () => number;
    readonly monotonicMs?: (() => number) | undefined;
  }) {
    this.lifetimeSeconds = lifetimeSeconds;
    this.#tokens = tokens;
    this.#nowMs = nowMs;
    const read = (key: string) => {
      const [acquirerId, id] = key.split(' ');
      return users.find(Number(acquirerId), id!);
    };
    this.#users = new RecentReads(read, monotonicMs);
  }

  issue({ id, owner }: PortalUser): Promise<string> {
    const exp = Math.floor(this.#nowMs() / 1_000) + this.lifetimeSeconds;
    return this.#tokens.sign('login', { sub: id, acquirerId: owner.acquirerId, jti: randomUUID(), exp });
  }

  /**
   * Returns the user of a session.
   *
   * @param token verified, of use `login`
   * @throws AuthError JWT_INVALID if the user was removed, or the password has changed since; Forbidden BLOCKED_USER
   */
  async userOf({ claims }: OwnToken): Promise<PortalUser> {
    const read = loginTokenClaims.safeParse(claims);
    if (!read.success) throw new AuthError('JWT_INVALID', 'claims');
    const user = await this.#users.get(`${read.data.acquirerId} ${read.data.sub}`);
    if (user === undefined) throw new AuthError('JWT_INVALID', 'user');
    // `iat` is in whole seconds: a session from the second of the change may be of the new password.
    if (claims.iat! + 1 <= user.passwordChangedAtMs / 1_000) throw new AuthError('JWT_INVALID', 'password');
    if (user.isBlocked) throw new Forbidden('BLOCKED_USER');
    return user;
  }
}

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

/**
 * Makes the function that creates tokens for readers (4.3). They repeat what the integrator's own token states about
 * the merchant and its terminal.
 *
 * @returns a function that throws AuthError FORBIDDEN without the right, RequestRejected (TOKEN_WITHOUT_TERMINAL)
 * with a pointer to each missing claim, or to a terminal that the merchant may not use (7.1)
 */
export function createProximityTokens({
  tokens,
  directory,
  lifetimeSeconds,
  nowMs,
}: {
  readonly tokens: OwnTokens;
  readonly directory: Pick<Directory, 'merchant' | 'user' | 'terminal'>;
  readonly lifetimeSeconds: number;
  /** Milliseconds since 1970. */
  readonly nowMs: () => number;
}) {
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
