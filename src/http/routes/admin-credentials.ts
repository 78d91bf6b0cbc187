import { SETTINGS } from '#schemas/admin-operations';
import type { ApiKeyMode } from '../../auth/api-key.ts';
import { MERCHANT_TOKEN_SCOPES } from '../../auth/authenticator.ts';
import type { LoginDomain } from '../../auth/portal/login-domains.ts';
import type { Database } from '../../store/postgres/open-database.ts';
import {
  ApiKeySettings,
  IssuerKeySettings,
  type IssuerRules,
  UserSettings,
} from '../../store/settings/credential-settings.ts';
import type { Server } from '../server.ts';
import { registerKeyRoutes } from './admin-keys.ts';
import { type AdminRoutes, registerSettingsRoutes } from './admin-settings.ts';
import { registerUserRoutes } from './admin-users.ts';

const issuerKeys = {
  operations: SETTINGS.issuerKeys,
  one: 'an issuer key',
  many: 'issuer keys',
  scope: 'credentials:manage',
  grants: MERCHANT_TOKEN_SCOPES,
  notes: {
    list: 'The list includes revoked keys.',
    add:
      'Register the key as PEM with a proof of its private key, or the URL of a JWKS. The gateway then accepts tokens signed ' +
      'with the key. They can use the scopes `transactions:read`, `transactions:refund` and `devices:manage`, so the calling ' +
      'key must have them.',
    remove: 'Revokes an issuer key. The gateway refuses tokens signed with the key within seconds.',
  },
} as const;

export interface CredentialRoutesOptions extends AdminRoutes {
  readonly database: Database;
  /** Mode of the keys that this installation accepts. */
  readonly mode: ApiKeyMode;
  readonly issuerRules: IssuerRules;
  readonly loginDomains: readonly LoginDomain[];
}

/**
 * The credentials of an acquirer, its integrators and merchants: API keys, portal users, and keys that sign tokens.
 */
export function registerCredentialRoutes(
  server: Server,
  { database, mode, issuerRules, loginDomains, ...admin }: CredentialRoutesOptions,
): void {
  registerKeyRoutes(server, { ...admin, apiKeys: new ApiKeySettings(database, mode) });
  registerUserRoutes(server, { ...admin, settings: new UserSettings(database, loginDomains) });
  registerSettingsRoutes(server, admin, issuerKeys, new IssuerKeySettings(database, issuerRules));
}
