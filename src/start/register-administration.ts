import { registerAuditRoutes } from '../http/routes/admin-audit.ts';
import { registerAdminCallbackRoutes } from '../http/routes/admin-callbacks.ts';
import { registerCredentialRoutes } from '../http/routes/admin-credentials.ts';
import { registerProcessorRoutes } from '../http/routes/admin-processors.ts';
import { registerTenantRoutes } from '../http/routes/admin-tenants.ts';
import type { Server } from '../http/server.ts';
import { RecordedWebhookEndpoints } from '../store/webhooks/recorded-webhook-endpoints.ts';
import { CallbackRegistry } from '../webhooks/callback-registry.ts';
import { callbackPolicy } from '../webhooks/callback-url.ts';
import { createSecretVault } from '../webhooks/webhook-secret.ts';
import type { createGuards } from './create-guards.ts';
import type { RouteParts } from './route-parts.ts';
import { switchAccessOf } from './switch-access-of.ts';

/** The settings that operators and acquirers manage by HTTP. The command line offers the same operations. */
export function registerAdministration(
  server: Server,
  { config, database, types, fetcher, stores: { keys, directory } }: RouteParts,
  { authenticator, idempotent }: Pick<ReturnType<typeof createGuards>, 'authenticator' | 'idempotent'>,
): void {
  const admin = { authenticator, idempotent };
  const mode = config.TAPWIRE_ENV === 'prod' ? 'live' : 'test';
  const policy = callbackPolicy(config.TAPWIRE_ENV);
  const vault = createSecretVault(keys);
  const callbacksOf = (actor: string) =>
    new CallbackRegistry({
      endpoints: new RecordedWebhookEndpoints(database, actor),
      vault,
      policy,
      fetcher,
      onChange: () => directory.refreshWebhookEndpoints(),
    });
  registerTenantRoutes(server, { ...admin, database });
  const issuerRules = { policy, ownName: config.TAPWIRE_AUDIENCE };
  registerCredentialRoutes(server, { ...admin, database, mode, issuerRules, loginDomains: config.LOGIN_DOMAINS });
  registerProcessorRoutes(server, { ...admin, database, types, access: switchAccessOf(config) });
  registerAdminCallbackRoutes(server, { ...admin, callbacksOf });
  registerAuditRoutes(server, { authenticator, database });
}
