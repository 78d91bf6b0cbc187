import { ApiKeyVerifier } from '../auth/api-key.ts';
import { Attestations } from '../auth/attestation/attestations.ts';
import { Authenticator } from '../auth/authenticator.ts';
import { KeySets, PublishedIssuerKeys } from '../auth/issuers/key-sets.ts';
import { MerchantTokenVerifier } from '../auth/issuers/verify-merchant-token.ts';
import { createLogIn, type LogIn, type LoginFactors } from '../auth/portal/log-in.ts';
import { createMustEnrol } from '../auth/portal/portal-user.ts';
import { AppTokens, createTapTokens } from '../auth/tokens/app-tokens.ts';
import { createTokenCheck } from '../auth/tokens/check-token.ts';
import type { OwnTokens } from '../auth/tokens/gateway-tokens.ts';
import { createProximityTokens, LoginTokens } from '../auth/tokens/login-tokens.ts';
import { createSecondFactors, type SecondFactors } from '../auth/totp/second-factor.ts';
import { createFindPerson, type People } from '../console/routes/console-guard.ts';
import { requireAttestation } from '../http/admit-taps.ts';
import { createIdempotency, type RouteGuards } from '../http/idempotency.ts';
import { identifyLink } from '../http/links-view.ts';
import { identifySubmitter, limitRates, TapLimits } from '../http/rate-limit.ts';
import { registerAuditRoutes } from '../http/routes/admin-audit.ts';
import { registerCredentialRoutes } from '../http/routes/admin-credentials.ts';
import { registerProcessorRoutes } from '../http/routes/admin-processors.ts';
import { registerTenantRoutes } from '../http/routes/admin-tenants.ts';
import { registerAdminCallbackRoutes, registerCallbackRoutes } from '../http/routes/callbacks.ts';
import { registerDeviceRoutes, registerPushRoute } from '../http/routes/devices-and-push.ts';
import { registerLinkStatusRoutes } from '../http/routes/link-status.ts';
import { registerConsumerRoutes, registerIntentRoutes, registerLinkRoutes } from '../http/routes/links.ts';
import { registerPayPageRoutes } from '../http/routes/pay-page.ts';
import { registerRefundRoutes } from '../http/routes/refunds.ts';
import { registerAcknowledgeRoutes, registerPinRoute, registerTapRoutes } from '../http/routes/taps.ts';
import { registerTerminalConfigRoute } from '../http/routes/terminal-config.ts';
import { registerTerminalProfileRoutes } from '../http/routes/terminal-profiles.ts';
import {
  registerAcquirerIdRoute,
  registerLoginRoute,
  registerProximityTokenRoute,
  registerTokensCheckRoute,
  registerWellKnownRoutes,
} from '../http/routes/tokens.ts';
import { registerTransactionNoteRoutes } from '../http/routes/transaction-notes.ts';
import { registerReferencesCheckRoute, registerTransactionRoutes } from '../http/routes/transactions.ts';
import { registerVirtualReaderRoutes } from '../http/routes/virtual-reader.ts';
import { registerWebhookEventRoutes } from '../http/routes/webhook-events.ts';
import type { Server } from '../http/server.ts';
import type { ReaderFormats } from '../kits/reader-kit/load-readers.ts';
import type { Metrics } from '../observe/metrics/metrics.ts';
import { callbackPolicy, fetchKeySet, type GuardedFetch } from '../outbound/guarded-fetch.ts';
import type { LinkServices } from '../payments/links/create-link.ts';
import type { TransactionDependencies } from '../payments/ports/transaction-dependencies.ts';
import type { ProcessorTypes } from '../payments/settings/check-settings.ts';
import type { UseCases } from '../payments/use-cases.ts';
import { postgresApiKeys } from '../store/credentials/api-keys.ts';
import { UserTotp } from '../store/credentials/user-totp.ts';
import { postgresLoginTries, postgresUsers } from '../store/credentials/users.ts';
import type { Database } from '../store/postgres/open-database.ts';
import { TerminalProfileSettings } from '../store/settings/terminal-profile-settings.ts';
import { isReferenceFree } from '../store/transactions/find-transactions.ts';
import { IdempotencyKeys } from '../store/transactions/idempotency.ts';
import { PostgresWebhookEndpoints, RecordedWebhookEndpoints } from '../store/webhooks/webhook-endpoints.ts';
import { PostgresWebhookEvents } from '../store/webhooks/webhook-events.ts';
import { createSwitchChecks } from '../tools/doctor/switch-checks.ts';
import { VirtualReader } from '../tools/phone/virtual-reader.ts';
import { CallbackRegistry } from '../webhooks/callback-registry.ts';
import { createSecretVault } from '../webhooks/webhook-signature.ts';
import { createLinkServices } from './create-transaction-dependencies.ts';
import { readerRulesOf, switchAccessOf } from './open-hsm-and-readers.ts';
import type { Pushes } from './open-pushes.ts';
import type { Databases, Stores } from './open-stores.ts';
import type { LongestDeadlines } from './open-switches.ts';
import type { Opening } from './opening.ts';

type Guards = ReturnType<typeof createGuards>;

/** The guards in front of routes: authentication, authorization and idempotency. */
function createGuards(parts: RouteParts, people: People) {
  const { config, database, stores, ownTokens, deps, fetcher, closers, report } = parts;
  const { directory, keys } = stores;
  const keySets = new KeySets({
    fetch: (url) => fetchKeySet(fetcher, url),
    monotonicMs: deps.clock.monotonicMs,
    onError: report('published keys of an issuer could not be fetched'),
  });
  closers.push(() => keySets.close());
  const issuerKeys = new PublishedIssuerKeys(directory, keySets);
  const tokens = new MerchantTokenVerifier({
    keys: issuerKeys,
    merchants: directory,
    audience: config.TAPWIRE_AUDIENCE,
    nowMs: deps.clock.nowMs,
  });
  const apiKeys = new ApiKeyVerifier({
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
  const authenticator = new Authenticator({
    ...{ tokens, apiKeys, ownTokens, loginTokens, merchants: directory, directory },
    findPerson: createFindPerson(people),
  });
  const idempotencyKeys = new IdempotencyKeys(database, keys);
  closers.push(() => idempotencyKeys.close());
  const appTokens = new AppTokens(ownTokens, directory, deps.clock.nowMs);
  const tapTokens = createTapTokens(tokens, appTokens);
  const idempotent = createIdempotency(authenticator, idempotencyKeys);
  return { tokens, tapTokens, appTokens, issuerKeys, users, loginTokens, authenticator, idempotent };
}

/** The settings that operators and acquirers manage by HTTP. The command line offers the same operations. */
function registerAdministration(
  server: Server,
  { config, database, types, fetcher, deps, stores: { keys, directory } }: RouteParts,
  admin: RouteGuards,
): void {
  const mode = config.TAPWIRE_ENV === 'prod' ? 'live' : 'test';
  const policy = callbackPolicy(config.TAPWIRE_ENV);
  const vault = createSecretVault(keys);
  const callbacksOf = (actor: string) =>
    new CallbackRegistry({
      endpoints: new RecordedWebhookEndpoints(database, actor),
      vault,
      policy,
      clock: deps.clock,
      fetcher,
      onChange: () => directory.refreshWebhookEndpoints(),
    });
  registerTenantRoutes(server, { ...admin, database });
  const issuerRules = { policy, ownName: config.TAPWIRE_AUDIENCE };
  registerCredentialRoutes(server, { ...admin, database, mode, issuerRules, loginDomains: config.LOGIN_DOMAINS });
  const access = switchAccessOf(config);
  registerProcessorRoutes(server, admin, database, types, access, createSwitchChecks({ database, types, access }));
  registerAdminCallbackRoutes(server, admin, callbacksOf);
  registerTransactionNoteRoutes(server, admin, database);
  registerAuditRoutes(server, admin.authenticator, database);
}

/** Second factors as logins check them and use them up. */
export function loginFactors(factors: SecondFactors, totp: UserTotp): LoginFactors {
  return {
    check: (...of) => factors.check(...of),
    use: ({ id, username, owner }, proof) =>
      totp.use({ acquirerId: owner.acquirerId, userId: id }, proof, `user ${username}`),
  };
}

/** Request limits, tokens in exchange for credentials, and the diagnosis of refused tokens. */
function registerCredentials(server: Server, parts: RouteParts, guards: Guards): void {
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
  registerLoginRoute(server, authenticator, logInOf(parts, guards));
  const lifetimeSeconds = config.PROXIMITY_TOKEN_HOURS * 3_600;
  const issue = createProximityTokens({ tokens: ownTokens, directory, lifetimeSeconds, nowMs });
  registerProximityTokenRoute(server, { directory, tokens, issue });
  registerAcquirerIdRoute(server, authenticator);
  const check = createTokenCheck({ tokens, registered: directory, keys: issuerKeys });
  registerTokensCheckRoute(server, authenticator, check);
  registerReferencesCheckRoute(server, authenticator, directory, (acquirerId, merchantId, reference) =>
    isReferenceFree(database, acquirerId, merchantId, reference),
  );
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

/** Links and intents: how they are created, paid and looked up. */
function registerPayments(server: Server, parts: RouteParts, guards: ReturnType<typeof createGuards>): void {
  const { authenticator, appTokens } = guards;
  const services = createLinkServices(
    parts.config,
    parts.deps,
    parts.stores.directory,
    appTokens,
    () => server.listeningOrigin,
  );
  const { links, directory } = parts.stores;
  registerLinkRoutes(server, guards, services);
  registerIntentRoutes(server, guards, services, links);
  registerLinkStatusRoutes(server, authenticator, appTokens, links);
  registerConsumerRoutes(server, appTokens, links, directory);
  registerPayPage(server, parts, appTokens, services);
}

/** The page that a link opens; in `dev` it contains a virtual phone. */
function registerPayPage(
  server: Server,
  { config, stores: { links, directory }, deps: { clock } }: RouteParts,
  appTokens: AppTokens,
  services: LinkServices,
): void {
  const { TAPWIRE_ENV, INTENT_ACTION: intentAction, INTENT_PACKAGE: intentPackage } = config;
  const hasVirtualPhone = TAPWIRE_ENV === 'dev';
  const settings = { intentAction, intentPackage, hasVirtualPhone };
  const identify = identifyLink(appTokens);
  registerPayPageRoutes(server, { identify, links, directory, clock, services, settings });
  if (hasVirtualPhone) registerVirtualReaderRoutes(server, { identify, links, directory, reader: new VirtualReader() });
}

/** Terminals and devices: their profiles, configuration downloads and pushed payments. */
function registerTerminals(server: Server, parts: RouteParts, guards: ReturnType<typeof createGuards>): void {
  const { config, formats, database, stores, ownTokens, pushes } = parts;
  const { authenticator, idempotent, appTokens } = guards;
  registerTerminalProfileRoutes(server, {
    authenticator,
    idempotent,
    profiles: new TerminalProfileSettings(database),
    readerRules: readerRulesOf(config, formats),
    onChange: () => stores.directory.refreshTerminalProfiles(),
  });
  const { directory, links } = stores;
  registerTerminalConfigRoute(server, {
    directory,
    links,
    ownTokens,
    appTokens,
    cardDataKeysUrl: () => `${config.BASE_URL ?? server.listeningOrigin}/.well-known/card-data-keys.json`,
  });
  registerDeviceRoutes(server, guards, pushes.registry);
  registerPushRoute(server, guards, pushes.payments);
}

/** All routes that need a credential, and the public ones. */
export function registerRoutes(server: Server, parts: RouteParts, people: People): void {
  const { deps, useCases, stores } = parts;
  const guards = createGuards(parts, people);
  registerCredentials(server, parts, guards);
  const { tapTokens, authenticator } = guards;
  const { store: transactions, directory } = stores;
  const { TAPWIRE_AUDIENCE: audience } = parts.config;
  const attestations = new Attestations({
    attesters: directory,
    audience,
    nowMs: deps.clock.nowMs,
    count: (result) => parts.metrics.countAttestation(result),
  });
  const attest = requireAttestation(attestations);
  const taps = { deps, useCases, identify: identifySubmitter(tapTokens, tapLimitsOf(parts)), attest };
  registerTapRoutes(server, taps);
  registerPinRoute(server, taps);
  registerAcknowledgeRoutes(server, taps);
  registerRefundRoutes(server, guards, useCases, transactions);
  registerTransactionRoutes(server, authenticator, transactions, directory, deps.vault);
  registerPayments(server, parts, guards);
  registerTerminals(server, parts, guards);
  registerWebhookRoutes(server, parts, guards);
  registerAdministration(server, parts, guards);
  registerWellKnownRoutes(server, stores.keys);
}

function tapLimitsOf({ config, deps }: RouteParts): TapLimits {
  return new TapLimits({
    perLink: config.TAPS_PER_LINK,
    perToken: config.TAPS_PER_TOKEN,
    perMerchant: config.TAPS_PER_MERCHANT,
    monotonicMs: deps.clock.monotonicMs,
  });
}

function registerWebhookRoutes(
  server: Server,
  { config, database, deps, stores: { keys, directory, jobs }, fetcher }: RouteParts,
  guards: RouteGuards,
): void {
  const callbacks = new CallbackRegistry({
    endpoints: new PostgresWebhookEndpoints(database),
    vault: createSecretVault(keys),
    policy: callbackPolicy(config.TAPWIRE_ENV),
    clock: deps.clock,
    fetcher,
    onChange: () => directory.refreshWebhookEndpoints(),
  });
  registerCallbackRoutes(server, guards, callbacks);
  registerWebhookEventRoutes(server, guards.authenticator, new PostgresWebhookEvents(database, jobs));
}

export interface RouteParts extends Opening {
  readonly database: Database;
  readonly databases: Databases;
  readonly stores: Stores;
  readonly types: ProcessorTypes;
  readonly formats: ReaderFormats;
  readonly ownTokens: OwnTokens;
  readonly deadlines: LongestDeadlines;
  readonly deps: TransactionDependencies;
  readonly useCases: UseCases;
  readonly fetcher: GuardedFetch;
  readonly pushes: Pushes;
  readonly metrics: Metrics;
}
