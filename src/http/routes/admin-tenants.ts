import { attesterPath, blockedDevicePath, integratorPath, merchantPath, terminalPath } from '#schemas/admin';
import {
  integratorChange,
  merchantChange,
  newBlockedDevice,
  newIntegrator,
  newMerchant,
  newTerminal,
  storedBlockedDevice,
  storedIntegrator,
  storedMerchant,
  storedTerminal,
  terminalChange,
} from '#schemas/admin-tenants';
import { attesterChange, newAttester, storedAttester } from '#schemas/attestation';
import type { Database } from '../../store/postgres/open-database.ts';
import { AcquirerSettings } from '../../store/settings/acquirer-settings.ts';
import { Acquirers } from '../../store/settings/acquirers.ts';
import {
  ATTESTER_SETTINGS,
  BLOCKED_DEVICE_SETTINGS,
  INTEGRATOR_SETTINGS,
  MERCHANT_SETTINGS,
  TERMINAL_SETTINGS,
} from '../../store/settings/tenant-settings.ts';
import type { Server } from '../server.ts';
import { registerAcquirerRoutes } from './admin-acquirers.ts';
import {
  type AdminRoutes,
  registerChangeRoute,
  registerSettingsRoutes,
  type SettingsRoutes,
} from './admin-settings.ts';

const scope = 'tenants:manage';

const integrators = {
  name: 'integrators',
  one: 'an integrator',
  many: 'integrators',
  scope,
  path: integratorPath,
  answer: storedIntegrator,
} as const satisfies SettingsRoutes<object>;

const merchants = {
  name: 'merchants',
  one: 'a merchant',
  many: 'merchants',
  scope,
  path: merchantPath,
  answer: storedMerchant,
  notes: {
    change: 'The integrator of a merchant cannot be changed.',
    remove:
      'Removes a merchant. Refused with 409 if the merchant has transactions or keys: block the merchant instead.',
  },
} as const satisfies SettingsRoutes<object>;

const terminals = {
  name: 'terminals',
  one: 'a terminal',
  many: 'terminals',
  scope,
  path: terminalPath,
  key: 'xTid',
  answer: storedTerminal,
  notes: { remove: 'Removes a terminal. Refused with 409 while a route names the terminal.' },
} as const;

const blockedDevices = {
  name: 'blocked-devices',
  one: 'a blocked device',
  many: 'blocked devices',
  scope,
  path: blockedDevicePath,
  key: 'deviceInstallationId',
  answer: storedBlockedDevice,
  notes: {
    add: 'The gateway refuses requests from a blocked device.',
    remove: 'Removes the block from a device.',
  },
} as const;

const attesters = {
  name: 'attesters',
  one: 'an attester',
  many: 'attesters',
  scope: 'credentials:manage',
  path: attesterPath,
  key: 'name',
  answer: storedAttester,
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
  const ofIntegrators = new AcquirerSettings(database, INTEGRATOR_SETTINGS);
  registerSettingsRoutes(server, admin, { ...integrators, body: newIntegrator, settings: ofIntegrators });
  registerChangeRoute(server, admin, integrators, 'PATCH', integratorChange, ofIntegrators);
  const ofMerchants = new AcquirerSettings(database, MERCHANT_SETTINGS);
  registerSettingsRoutes(server, admin, { ...merchants, body: newMerchant, settings: ofMerchants });
  registerChangeRoute(server, admin, merchants, 'PATCH', merchantChange, ofMerchants);
  const ofTerminals = new AcquirerSettings(database, TERMINAL_SETTINGS);
  registerSettingsRoutes(server, admin, { ...terminals, body: newTerminal, settings: ofTerminals });
  registerChangeRoute(server, admin, terminals, 'PATCH', terminalChange, ofTerminals);
  const ofDevices = new AcquirerSettings(database, BLOCKED_DEVICE_SETTINGS);
  registerSettingsRoutes(server, admin, { ...blockedDevices, body: newBlockedDevice, settings: ofDevices });
  const ofAttesters = new AcquirerSettings(database, ATTESTER_SETTINGS);
  registerSettingsRoutes(server, admin, { ...attesters, body: newAttester, settings: ofAttesters });
  registerChangeRoute(server, admin, attesters, 'PATCH', attesterChange, ofAttesters);
}
