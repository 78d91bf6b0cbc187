import { registerDeviceRoutes } from '../http/routes/devices.ts';
import { registerPushRoute } from '../http/routes/push.ts';
import { registerTerminalConfigRoute } from '../http/routes/terminal-config.ts';
import { registerTerminalProfileRoutes } from '../http/routes/terminal-profiles.ts';
import type { Server } from '../http/server.ts';
import { TerminalProfileSettings } from '../store/settings/terminal-profile-settings.ts';
import type { createGuards } from './create-guards.ts';
import { readerRulesOf } from './open-card-readers.ts';
import type { RouteParts } from './route-parts.ts';

/** Terminals and devices: their profiles, configuration downloads and pushed payments. */
export function registerTerminals(server: Server, parts: RouteParts, guards: ReturnType<typeof createGuards>): void {
  const { config, formats, database, stores, ownTokens, deps, pushes } = parts;
  const { authenticator, idempotent, appTokens } = guards;
  registerTerminalProfileRoutes(server, {
    authenticator,
    idempotent,
    profiles: new TerminalProfileSettings(database),
    readerRules: readerRulesOf(config, formats),
    onChange: () => stores.directory.refreshTerminalProfiles(),
  });
  registerTerminalConfigRoute(server, {
    deps,
    ownTokens,
    appTokens,
    cardDataKeysUrl: () => `${config.BASE_URL ?? server.listeningOrigin}/.well-known/card-data-keys.json`,
  });
  registerDeviceRoutes(server, { authenticator, idempotent, devices: pushes.registry });
  registerPushRoute(server, { authenticator, idempotent, pushes: pushes.payments });
}
