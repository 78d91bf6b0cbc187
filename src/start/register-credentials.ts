import { createLogIn, type LogIn } from '../auth/portal/log-in.ts';
import { createMustEnrol } from '../auth/portal/must-enrol.ts';
import { createTokenCheck } from '../auth/tokens/check-token.ts';
import { createProximityTokens } from '../auth/tokens/proximity-token.ts';
import { createSecondFactors } from '../auth/totp/second-factor.ts';
import { limitRates } from '../http/rate-limit.ts';
import { registerAcquirerIdRoute } from '../http/routes/acquirer-id.ts';
import { registerLoginRoute } from '../http/routes/login.ts';
import { registerProximityTokenRoute } from '../http/routes/proximity-token.ts';
import { registerReferencesCheckRoute } from '../http/routes/references-check.ts';
import { registerTokensCheckRoute } from '../http/routes/tokens-check.ts';
import type { Server } from '../http/server.ts';
import { postgresLoginTries } from '../store/credentials/login-tries.ts';
import { UserTotp } from '../store/credentials/user-totp.ts';
import { isReferenceFree } from '../store/transactions/references.ts';
import type { Guards } from './create-guards.ts';
import { loginFactors } from './login-factors.ts';
import type { RouteParts } from './route-parts.ts';

/** Request limits, tokens in exchange for credentials, and the diagnosis of refused tokens. */
export function registerCredentials(server: Server, parts: RouteParts, guards: Guards): void {
  const { config, database, stores, ownTokens, deps } = parts;
  const { authenticator, tokens, issuerKeys } = guards;
  const { directory } = stores;
  const { nowMs, monotonicMs } = deps.clock;
  limitRates(server, {
    perCredential: config.RATE_PER_CREDENTIAL,
    perAppToken: config.RATE_PER_APP_TOKEN,
    perAddress: config.RATE_PER_ADDRESS,
    monotonicMs,
  });
  registerLoginRoute(server, { authenticator, logIn: logInOf(parts, guards) });
  const lifetimeSeconds = config.PROXIMITY_TOKEN_HOURS * 3_600;
  const issue = createProximityTokens({ tokens: ownTokens, directory, lifetimeSeconds, nowMs });
  registerProximityTokenRoute(server, { directory, tokens, issue });
  registerAcquirerIdRoute(server, authenticator);
  const check = createTokenCheck({ tokens, registered: directory, keys: issuerKeys });
  registerTokensCheckRoute(server, { authenticator, check });
  registerReferencesCheckRoute(server, {
    authenticator,
    directory,
    isFree: (acquirerId, merchantId, reference) => isReferenceFree(database, acquirerId, merchantId, reference),
  });
}

function logInOf({ config, database, stores }: RouteParts, { users, loginTokens }: Guards): LogIn {
  const { LOGIN_TRIES_PER_USER: perUser, LOGIN_TRIES_PER_ADDRESS: perAddress, LOGIN_WINDOW_MINUTES } = config;
  const limits = { perUser, perAddress, windowSeconds: LOGIN_WINDOW_MINUTES * 60 };
  const factors = loginFactors(
    createSecondFactors(stores.keys, () => Date.now()),
    new UserTotp(database),
  );
  return createLogIn({
    ...{ logins: users, factors, tries: postgresLoginTries(database), tokens: loginTokens, limits },
    mustEnrol: createMustEnrol(config.CONSOLE_NEEDS_TOTP),
  });
}
