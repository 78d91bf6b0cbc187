import type { LoginFactors } from '../auth/portal/log-in.ts';
import type { SecondFactors } from '../auth/totp/second-factor.ts';
import type { UserTotp } from '../store/credentials/user-totp.ts';

/** Second factors as logins check them and use them up. */
export function loginFactors(factors: SecondFactors, totp: UserTotp): LoginFactors {
  return {
    check: (...of) => factors.check(...of),
    use: ({ id, username, owner }, proof) =>
      totp.use({ acquirerId: owner.acquirerId, userId: id }, proof, `user ${username}`),
  };
}
