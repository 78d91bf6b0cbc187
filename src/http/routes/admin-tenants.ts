import { SETTINGS } from '#schemas/admin-operations';
import type { Database } from '../../store/postgres/open-database.ts';
import { AcquirerSettings } from '../../store/settings/acquirer-settings.ts';
import { Acquirers } from '../../store/settings/acquirers.ts';
import type { SettingsTable } from '../../store/settings/settings-table.ts';
import {
  ATTESTER_SETTINGS,
  BLOCKED_DEVICE_SETTINGS,
  INTEGRATOR_SETTINGS,
  MERCHANT_SETTINGS,
  TERMINAL_SETTINGS,
} from '../../store/settings/tenant-settings.ts';
import type { Server } from '../server.ts';
import { registerAcquirerRoutes } from './admin-acquirers.ts';
import { type AdminRoutes, registerSettingsRoutes, type SettingsRoutes } from './admin-settings.ts';

const scope = 'tenants:manage';

const integrators = {
  operations: SETTINGS.integrators,
  one: 'an integrator',
  many: 'integrators',
  scope,
} as const;

const merchants = {
  operations: SETTINGS.merchants,
  one: 'a merchant',
  many: 'merchants',
  scope,
  notes: {
    change: 'The integrator of a merchant cannot be changed.',
    remove:
      'Removes a merchant. Refused with 409 if the merchant has transactions or keys: block the merchant instead.',
  },
} as const;

const terminals = {
  operations: SETTINGS.terminals,
  one: 'a terminal',
  many: 'terminals',
  scope,
  key: 'xTid',
  notes: { remove: 'Removes a terminal. Refused with 409 while a route names the terminal.' },
} as const;

const blockedDevices = {
  operations: SETTINGS.blockedDevices,
  one: 'a blocked device',
  many: 'blocked devices',
  scope,
  key: 'deviceInstallationId',
  notes: {
    add: 'The gateway refuses requests from a blocked device.',
    remove: 'Removes the block from a device.',
  },
} as const;

const attesters = {
  operations: SETTINGS.attesters,
  one: 'an attester',
  many: 'attesters',
  scope: 'credentials:manage',
  key: 'name',
  notes: {
    add: 'With `required`, the gateway refuses taps and PINs of the acquirer without an attestation within seconds.',
    remove: 'Removes an attester. Without a required attester, the acquirer requires no attestation.',
  },
} as const;

/**
 * The tenants of the installation: acquirers, and the integrators, merchants, terminals and blocked devices of each.
 */
export function registerTenantRoutes(
  server: Server,
  { database, ...admin }: AdminRoutes & { readonly database: Database },
): void {
  registerAcquirerRoutes(server, { ...admin, acquirers: new Acquirers(database) });
  const register = <Settings extends object, Stored extends object>(
    routes: SettingsRoutes<Stored>,
    table: SettingsTable<Settings, Stored>,
  ) => registerSettingsRoutes(server, admin, routes, new AcquirerSettings(database, table));
  register(integrators, INTEGRATOR_SETTINGS);
  register(merchants, MERCHANT_SETTINGS);
  register(terminals, TERMINAL_SETTINGS);
  register(blockedDevices, BLOCKED_DEVICE_SETTINGS);
  register(attesters, ATTESTER_SETTINGS);
}
