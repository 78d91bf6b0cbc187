import { ADMIN_OPERATIONS, SETTINGS } from '#schemas/admin-operations';
import type { ProcessorFinding, RouteQuestion, RouteVerdict } from '#schemas/admin-routing';
import type { ProcessorTypes } from '../../payments/settings/check-settings.ts';
import type { Database } from '../../store/postgres/open-database.ts';
import { AcquirerSettings } from '../../store/settings/acquirer-settings.ts';
import { processorSettingsFor, ROUTE_SETTINGS } from '../../store/settings/processor-settings.ts';
import { pageOfRegisteredKeys, type RegisteredKey } from '../../store/switches/hsm-keys.ts';
import type { SwitchAccess } from '../../switching/switches/access/switch-access.ts';
import type { RouteGuards } from '../idempotency.ts';
import type { Server } from '../server.ts';
import { routeOf, withNextPage, withZod } from '../with-zod.ts';
import { adminFacts, identifyAdministrator, identifyOperator, registerSettingsRoutes } from './admin-settings.ts';

const processors = {
  operations: SETTINGS.processors,
  one: 'a processor',
  many: 'processors',
  scope: 'processors:manage',
  notes: {
    add: 'The processor receives taps once a route leads to it.',
    change:
      'The type of a processor cannot be changed. What identifies the switch (addresses, listener, ids, keys) can be changed while no transaction is open there, or with the statement `isSameSwitch`. Without the statement, sales at the former switch can be neither voided nor refunded through the gateway: the header `x-stranded-sales` has the number of sales of the open business day that could still be voided.',
    remove:
      'Removes a processor. Refused with 409 while routes lead to the processor or transactions are open at it. Its sales can then be neither voided nor refunded through the gateway: the header `x-stranded-sales` has the number of sales of the open business day that could still be voided.',
  },
} as const;

const routes = {
  operations: SETTINGS.routes,
  one: 'a route',
  many: 'routes',
  scope: 'processors:manage',
  notes: {
    add: 'A route assigns taps to a processor. The gateway tries matching routes in ascending order of priority.',
    change: 'The processor of a route cannot be changed.',
    remove: 'Removes a route. New taps no longer use the route.',
  },
} as const;

/** The processors of an acquirer, and the routes that assign transactions to them. */
export function registerProcessorRoutes(
  server: Server,
  admin: RouteGuards,
  database: Database,
  types: ProcessorTypes,
  access: SwitchAccess,
  checks: SwitchChecks,
): void {
  const ofProcessors = new AcquirerSettings(database, processorSettingsFor(types, access));
  registerSettingsRoutes(server, admin, processors, ofProcessors);
  registerSettingsRoutes(server, admin, routes, new AcquirerSettings(database, ROUTE_SETTINGS));
  registerSwitchChecks(server, admin, checks);
  registerHsmKeyRoutes(server, admin, database);
}

/** The keys that processors name: read only, because keys come to an HSM in a ceremony (`tapwire hsm`). */
function registerHsmKeyRoutes(server: Server, { authenticator }: RouteGuards, database: Database): void {
  const { scope } = processors;
  const described = {
    description: `Lists the registered keys of the HSM in the order of their names: their owners, uses, check values and days of replacement. Keys are added with \`tapwire hsm\`. The header \`Link\` (\`rel="next"\`) leads to the next page.`,
  };
  const nameOf = ({ keyId }: RegisteredKey) => keyId;

  withZod(server).route({
    ...routeOf(ADMIN_OPERATIONS.listHsmKeys, 200),
    config: adminFacts('List HSM keys', { scope }, described),
    onRequest: identifyAdministrator(authenticator, scope),
    handler: async (request, reply) =>
      withNextPage(
        request,
        reply,
        await pageOfRegisteredKeys(database, request.params.acquirerId, request.query),
        nameOf,
      ),
  });

  withZod(server).route({
    ...routeOf(ADMIN_OPERATIONS.listHsmKeysOfInstallation, 200),
    config: adminFacts('List HSM keys of the installation', { scope, takes: ['operatorKey'] }, described),
    onRequest: identifyOperator(authenticator, scope),
    handler: async (request, reply) =>
      withNextPage(request, reply, await pageOfRegisteredKeys(database, undefined, request.query), nameOf),
  });
}

/** Examinations of switches and routes, which change nothing. */
export interface SwitchChecks {
  /** @throws NotFound unless the acquirer has the processor; Overloaded */
  examine(acquirerId: number, id: number): Promise<ProcessorFinding[]>;
  /** @throws RequestRejected for a terminal that the acquirer does not have */
  checkRoutes(acquirerId: number, question: RouteQuestion): Promise<RouteVerdict[]>;
}

function registerSwitchChecks(server: Server, { authenticator }: RouteGuards, checks: SwitchChecks): void {
  const { scope } = processors;
  const onRequest = identifyAdministrator(authenticator, scope);

  withZod(server).route({
    ...routeOf(ADMIN_OPERATIONS.checkProcessor, 200),
    config: adminFacts(
      'Check a processor',
      { scope },
      {
        description:
          'Examines a processor as `tapwire doctor` does: its configuration, its certificates, whether its switch accepts a connection from the process that serves this request, whether each running process is signed on, and whether taps receive responses. Nothing is changed, and no message is sent: the switch sees one short connection.',
      },
    ),
    onRequest,
    handler: ({ params: { acquirerId, id } }) => checks.examine(acquirerId, id),
  });

  withZod(server).route({
    ...routeOf(ADMIN_OPERATIONS.checkRoutes, 200),
    config: adminFacts(
      'Check the routes',
      { scope },
      {
        description:
          'Returns all routes of the acquirer in the order in which the gateway tries them for a tap with this currency, scheme and terminal, each with the reason for its place. Nothing is sent or stored. The amount of a tap does not influence its route.',
      },
    ),
    onRequest,
    handler: ({ params: { acquirerId }, body }) => checks.checkRoutes(acquirerId, body),
  });
}
