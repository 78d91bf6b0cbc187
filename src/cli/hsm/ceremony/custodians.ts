import { createLoginCheck } from '../../../auth/portal/log-in.ts';
import { createMustEnrol } from '../../../auth/portal/must-enrol.ts';
import { INSTALLATION_OWNER, type PortalUser } from '../../../auth/portal/portal-user.ts';
import { createSecondFactors } from '../../../auth/totp/second-factor.ts';
import { AuthError, Throttled } from '../../../basics/errors.ts';
import type { KeyRing } from '../../../card/key-ring.ts';
import type { Config } from '../../../start/config.ts';
import { loginFactors } from '../../../start/login-factors.ts';
import { postgresLoginTries } from '../../../store/credentials/login-tries.ts';
import { UserTotp } from '../../../store/credentials/user-totp.ts';
import { postgresUsers } from '../../../store/credentials/users.ts';
import type { Database } from '../../../store/postgres/open-database.ts';

/** What a custodian types to prove who it is. */
export interface CustodianLogin {
  readonly username: string;
  readonly password: string;
  /** A one-time code; empty without one. */
  readonly code: string;
}

/** Why a person is not accepted as a custodian. */
export class CustodianRefused extends Error {}

export type CheckCustodian = (login: CustodianLogin) => Promise<PortalUser>;

/** All custodians are at this machine. */
const HERE = '127.0.0.1';

/**
 * Makes the function that accepts custodians of a key: operators and administrators of the acquirer that owns it, or of the
 * installation. They log in as in the console, and failed logins count in the same way.
 *
 * @param acquirerId owner of the key; 0 for the installation
 * @returns a function that throws CustodianRefused with a reason for the person
 */
export function createCustodianCheck(
  config: Config,
  database: Database,
  keys: KeyRing,
  acquirerId: number,
): CheckCustodian {
  const { LOGIN_TRIES_PER_USER: perUser, LOGIN_TRIES_PER_ADDRESS: perAddress, LOGIN_WINDOW_MINUTES } = config;
  const factors = createSecondFactors(keys, () => Date.now());
  const checkLogin = createLoginCheck({
    logins: postgresUsers(database),
    factors: loginFactors(factors, new UserTotp(database)),
    tries: postgresLoginTries(database),
    limits: { perUser, perAddress, windowSeconds: LOGIN_WINDOW_MINUTES * 60 },
  });
  const mustEnrol = createMustEnrol(config.CONSOLE_NEEDS_TOTP);
  return async ({ username, password, code }) => {
    const user = await checkLogin({ username, password, code: code === '' ? undefined : code, ip: HERE }).catch(
      (error) => {
        if (error instanceof AuthError) throw new CustodianRefused('The login is not accepted.');
        if (error instanceof Throttled) throw new CustodianRefused('There were too many logins; try again later.');
        throw error;
      },
    );
    if (mustEnrol(user)) throw new CustodianRefused('Set up one-time codes in the console first.');
    if (!isCustodian(user, acquirerId))
      throw new CustodianRefused(
        'A custodian is an operator or administrator of the installation, or of the owner of the key.',
      );
    return user;
  };
}

function isCustodian({ owner, role }: PortalUser, acquirerId: number): boolean {
  const isOfOwner = owner.acquirerId === INSTALLATION_OWNER || owner.acquirerId === acquirerId;
  return role !== 'viewer' && isOfOwner && owner.integratorId === undefined && owner.merchantId === undefined;
}
