import type { AppTokens } from '../auth/tokens/app-tokens.ts';
import { identifyLink } from '../http/identify-link.ts';
import { registerConsumerRoutes } from '../http/routes/consumer.ts';
import { registerIntentRoutes } from '../http/routes/intents.ts';
import { registerLinkStatusRoutes } from '../http/routes/link-status.ts';
import { registerLinkRoutes } from '../http/routes/links.ts';
import { registerPayPageRoutes } from '../http/routes/pay-page.ts';
import { registerVirtualReaderRoutes } from '../http/routes/virtual-reader.ts';
import type { Server } from '../http/server.ts';
import type { LinkDesk } from '../links/create-link.ts';
import { VirtualReader } from '../phone/virtual-reader.ts';
import type { IntentTokens } from '../transactions/ports/link-ports.ts';
import type { createGuards } from './create-guards.ts';
import type { RouteParts } from './register-routes.ts';

/** Links and intents: how they are created, paid and looked up. */
export function registerPayments(server: Server, parts: RouteParts, guards: ReturnType<typeof createGuards>): void {
  const { authenticator, idempotent, appTokens } = guards;
  const desk = linkDeskOf(parts, appTokens, () => server.listeningOrigin);
  const { links } = parts.stores;
  registerLinkRoutes(server, { authenticator, idempotent, desk });
  registerIntentRoutes(server, { authenticator, idempotent, desk, appTokens, links });
  registerLinkStatusRoutes(server, { authenticator, appTokens, links });
  registerConsumerRoutes(server, { world: parts.world, appTokens });
  registerPayPage(server, parts, appTokens, desk);
}

/** The page that a link opens; in `dev` with a virtual phone beside it. */
function registerPayPage(
  server: Server,
  { config, stores: { links, directory }, world: { clock } }: RouteParts,
  appTokens: AppTokens,
  desk: LinkDesk,
): void {
  const { TAPWIRE_ENV, INTENT_ACTION: intentAction, INTENT_PACKAGE: intentPackage } = config;
  const hasVirtualPhone = TAPWIRE_ENV === 'dev';
  const settings = { intentAction, intentPackage, hasVirtualPhone };
  const identify = identifyLink(appTokens);
  registerPayPageRoutes(server, { identify, links, directory, clock, desk, settings });
  if (hasVirtualPhone) registerVirtualReaderRoutes(server, { identify, links, reader: new VirtualReader() });
}

/** What links are made with, whoever makes them. */
export function linkDeskOf(
  { config, stores: { links, directory }, world }: Pick<RouteParts, 'config' | 'stores' | 'world'>,
  tokens: IntentTokens,
  origin: () => string,
): LinkDesk {
  return {
    links,
    tokens,
    directory,
    merchants: directory,
    clock: world.clock,
    newId: world.newId,
    lifetimeMinutes: config.LINK_MINUTES,
    appUrl: () => config.APP_URL ?? origin(),
  };
}
