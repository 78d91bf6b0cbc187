import { Attestations } from '../auth/attestation/attestations.ts';
import type { Authenticator } from '../auth/authenticator.ts';
import type { IdempotentRoute } from '../http/idempotency.ts';
import { requireAttestation } from '../http/require-attestation.ts';
import { registerAcknowledgeRoutes } from '../http/routes/acknowledge.ts';
import { registerCallbackRoutes } from '../http/routes/callbacks.ts';
import { registerPinRoute } from '../http/routes/pin.ts';
import { registerRefundRoutes } from '../http/routes/refunds.ts';
import { registerTapRoutes } from '../http/routes/taps.ts';
import { registerTransactionRoutes } from '../http/routes/transactions.ts';
import { registerWebhookEventRoutes } from '../http/routes/webhook-events.ts';
import { registerWellKnownRoutes } from '../http/routes/well-known.ts';
import type { Server } from '../http/server.ts';
import { identifySubmitter, TapLimits } from '../http/tap-limits.ts';
import { PostgresWebhookEndpoints } from '../store/webhooks/webhook-endpoints.ts';
import { PostgresWebhookEvents } from '../store/webhooks/webhook-events.ts';
import { CallbackRegistry } from '../webhooks/callback-registry.ts';
import { callbackPolicy } from '../webhooks/callback-url.ts';
import { createSecretVault } from '../webhooks/webhook-secret.ts';
import { createGuards } from './create-guards.ts';
import { registerAdministration } from './register-administration.ts';
import { registerCredentials } from './register-credentials.ts';
import { registerPayments } from './register-payments.ts';
import { registerTerminals } from './register-terminals.ts';
import type { RouteParts } from './route-parts.ts';

/** All routes that need a credential, and the public ones. */
export function registerRoutes(server: Server, parts: RouteParts): void {
  const { deps, stores } = parts;
  const guards = createGuards(parts);
  registerCredentials(server, parts, guards);
  const { tapTokens, authenticator, idempotent } = guards;
  const { store: transactions, directory } = stores;
  const { TAPWIRE_AUDIENCE: audience } = parts.config;
  const attestations = new Attestations({
    attesters: directory,
    audience,
    nowMs: deps.clock.nowMs,
    count: (result) => parts.metrics.countAttestation(result),
  });
  const attest = requireAttestation(attestations);
  const taps = { deps, identify: identifySubmitter(tapTokens, tapLimitsOf(parts)), attest };
  registerTapRoutes(server, taps);
  registerPinRoute(server, taps);
  registerAcknowledgeRoutes(server, taps);
  registerRefundRoutes(server, { deps, authenticator, transactions, idempotent });
  registerTransactionRoutes(server, { authenticator, transactions, directory, vault: deps.vault });
  registerPayments(server, parts, guards);
  registerTerminals(server, parts, guards);
  registerWebhookRoutes(server, parts, authenticator, idempotent);
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
  { config, database, stores: { keys, directory, jobs }, fetcher }: RouteParts,
  authenticator: Authenticator,
  idempotent: IdempotentRoute,
): void {
  const callbacks = new CallbackRegistry({
    endpoints: new PostgresWebhookEndpoints(database),
    vault: createSecretVault(keys),
    policy: callbackPolicy(config.TAPWIRE_ENV),
    fetcher,
    onChange: () => directory.refreshWebhookEndpoints(),
  });
  registerCallbackRoutes(server, { authenticator, idempotent, callbacks });
  registerWebhookEventRoutes(server, { authenticator, events: new PostgresWebhookEvents(database, jobs) });
}
