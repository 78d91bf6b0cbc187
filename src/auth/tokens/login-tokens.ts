import { randomUUID } from 'node:crypto';
import { loginTokenClaims } from '#schemas/tokens';
import { AuthError, Forbidden } from '../../basics/errors.ts';
import { RecentReads } from '../api-key.ts';
import type { PortalUser, PortalUsers } from '../portal/portal-user.ts';
import type { OwnToken, OwnTokens } from './gateway-tokens.ts';

export interface LoginTokensOptions {
  readonly tokens: OwnTokens;
  readonly users: PortalUsers;
  readonly lifetimeSeconds: number;
  /** Milliseconds since 1970. */
  readonly nowMs: () => number;
  readonly monotonicMs?: (() => number) | undefined;
}

/**
 * The sessions of portal users. A token contains only the user's id. The user's tenant and rights are read from the
 * store, at most 4 s ago. Rights can therefore be removed, and a user blocked, during a session.
 */
export class LoginTokens {
  readonly lifetimeSeconds: number;
  readonly #tokens: OwnTokens;
  readonly #users: RecentReads<PortalUser | undefined>;
  readonly #nowMs: () => number;

  constructor({ tokens, users, lifetimeSeconds, nowMs, monotonicMs }: LoginTokensOptions) {
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
