import type { AppTokens } from '../auth/tokens/app-tokens.ts';
import { identifyLink } from '../http/identify-link.ts';
import { registerConsumerRoutes } from '../http/routes/consumer.ts';
import { registerIntentRoutes } from '../http/routes/intents.ts';
import { registerLinkStatusRoutes } from '../http/routes/link-status.ts';
import { registerLinkRoutes } from '../http/routes/links.ts';
import { registerPayPageRoutes } from '../http/routes/pay-page.ts';
import { registerVirtualReaderRoutes } from '../http/routes/virtual-reader.ts';
import type { Server } from '../http/server.ts';
import type { LinkServices } from '../payments/links/create-link.ts';
import { VirtualReader } from '../tools/phone/virtual-reader.ts';
import type { createGuards } from './create-guards.ts';
import { createLinkServices } from './create-link-services.ts';
import type { RouteParts } from './route-parts.ts';

/** Links and intents: how they are created, paid and looked up. */
export function registerPayments(server: Server, parts: RouteParts, guards: ReturnType<typeof createGuards>): void {
  const { authenticator, idempotent, appTokens } = guards;
  const services = createLinkServices(parts, appTokens, () => server.listeningOrigin);
  const { links } = parts.stores;
  registerLinkRoutes(server, { authenticator, idempotent, services });
  registerIntentRoutes(server, { authenticator, idempotent, services, appTokens, links });
  registerLinkStatusRoutes(server, { authenticator, appTokens, links });
  registerConsumerRoutes(server, { deps: parts.deps, appTokens });
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
