import { SETTINGS } from '#schemas/admin-operations';
import { OPERATIONS } from '#schemas/operations';
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
import type { RouteGuards } from '../idempotency.ts';
import type { Server } from '../server.ts';
import { routeOf, withNextPage, withZod } from '../with-zod.ts';
import {
  adminFacts,
  identifyAdministrator,
  identifyOperator,
  operatorOf,
  registerSettingsRoutes,
  type SettingsRoutes,
} from './admin-settings.ts';

const SCOPE = 'tenants:manage';

const operatorFacts = (summary: string, description: string) =>
  adminFacts(summary, { scope: SCOPE, takes: ['operatorKey'] }, { description });

/** The acquirers of the installation. The operator adds and changes them; an acquirer can read its own record. */
function registerAcquirerRoutes(
  server: Server,
  { authenticator, idempotent, acquirers }: RouteGuards & { readonly acquirers: Acquirers },
): void {
  const onRequest = identifyOperator(authenticator, SCOPE);

  withZod(server).route({
    ...routeOf(OPERATIONS.listAcquirers, 200),
    config: operatorFacts(
      'List acquirers',
      'Lists the acquirers of the installation in ascending order of their ids. The header `Link` (`rel="next"`) leads to the next page.',
    ),
    onRequest,
    handler: async (request, reply) => {
      const rows = await acquirers.list(request.query);
      return withNextPage(request, reply, rows, ({ id }) => id);
    },
  });

  withZod(server).route({
    ...routeOf(OPERATIONS.addAcquirer, 201),
    config: operatorFacts('Add an acquirer', 'Adds an acquirer to the installation.'),
    onRequest,
    ...idempotent,
    handler: async (request, reply) => {
      const added = await acquirers.add(request.change!.actor, request.body);
      reply.code(201).header('location', `/acquirers/${added.id}`);
      return added;
    },
  });

  withZod(server).route({
    ...routeOf(OPERATIONS.showAcquirer, 200),
    config: adminFacts('Show an acquirer', { scope: SCOPE }, { description: 'Returns one acquirer.' }),
    onRequest: identifyAdministrator(authenticator, SCOPE),
    handler: (request) => acquirers.find(request.params.acquirerId),
  });

  withZod(server).route({
    ...routeOf(OPERATIONS.changeAcquirer, 200),
    config: operatorFacts(
      'Change an acquirer',
      'Changes the fields in the body; all other fields keep their values. The change takes effect within seconds.',
    ),
    // First requires an administrator. For an administrator of one acquirer, another acquirer does not exist.
    onRequest: async (request) => {
      const { acquirerId } = request.params as unknown as { acquirerId: string };
      const principal = await authenticator.administrator(request.headers, acquirerId, SCOPE);
      request.change = { acquirerId: Number(acquirerId), actor: operatorOf(principal) };
    },
    handler: (request) => acquirers.change(request.change!, request.body),
  });
}

const scope = 'tenants:manage';

const integrators = {
  operations: SETTINGS.integrators,
  one: 'an integrator',
  many: 'integrators',
  scope,
  notes: {
    remove: 'Removes an integrator. Refused with 409 if the integrator has merchants, users or keys: block it instead.',
  },
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
  { database, ...admin }: RouteGuards & { readonly database: Database },
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
