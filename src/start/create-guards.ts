import { createApiKeyVerifier } from '../auth/api-key.ts';
import { Authenticator } from '../auth/authenticator.ts';
import { KeySets } from '../auth/issuers/key-sets.ts';
import { PublishedIssuerKeys } from '../auth/issuers/published-issuer-keys.ts';
import { createMerchantTokenVerifier } from '../auth/issuers/verify-merchant-token.ts';
import { AppTokens } from '../auth/tokens/app-tokens.ts';
import { LoginTokens } from '../auth/tokens/login-tokens.ts';
import { createTapTokens } from '../auth/tokens/tap-tokens.ts';
import { createIdempotency } from '../http/idempotency.ts';
import { postgresApiKeys } from '../store/credentials/api-keys.ts';
import { postgresUsers } from '../store/credentials/users.ts';
import { IdempotencyKeys } from '../store/transactions/idempotency.ts';
import { fetchKeySet } from '../webhooks/fetch-key-set.ts';
import type { RouteParts } from './route-parts.ts';

export type Guards = ReturnType<typeof createGuards>;

/** The guards in front of routes: authentication, authorisation and idempotency. */
export function createGuards(parts: RouteParts) {
  const { config, database, stores, ownTokens, deps, fetcher, closers, report } = parts;
  const { directory, keys } = stores;
  const keySets = new KeySets({
    fetch: (url) => fetchKeySet(fetcher, url),
    monotonicMs: deps.clock.monotonicMs,
    onError: report('published keys of an issuer could not be fetched'),
  });
  closers.push(() => keySets.close());
  const issuerKeys = new PublishedIssuerKeys(directory, keySets);
  const tokens = createMerchantTokenVerifier({
    keys: issuerKeys,
    merchants: directory,
    audience: config.TAPWIRE_AUDIENCE,
    nowMs: deps.clock.nowMs,
  });
  const apiKeys = createApiKeyVerifier({
    keys: postgresApiKeys(database, report('use of an api key could not be recorded')),
    mode: config.TAPWIRE_ENV === 'prod' ? 'live' : 'test',
    nowMs: deps.clock.nowMs,
  });
  const users = postgresUsers(database);
  const loginTokens = new LoginTokens({
    tokens: ownTokens,
    users,
    lifetimeSeconds: config.LOGIN_TOKEN_MINUTES * 60,
    nowMs: deps.clock.nowMs,
  });
  const authenticator = new Authenticator({ tokens, apiKeys, ownTokens, loginTokens, merchants: directory, directory });
  const idempotencyKeys = new IdempotencyKeys(database, keys);
  closers.push(() => idempotencyKeys.close());
  const appTokens = new AppTokens(ownTokens, directory, deps.clock.nowMs);
  const tapTokens = createTapTokens(tokens, appTokens);
  const idempotent = createIdempotency(authenticator, idempotencyKeys);
  return { tokens, tapTokens, appTokens, issuerKeys, users, loginTokens, authenticator, idempotent };
}
