import { SETTINGS } from '#schemas/admin-operations';
import type { ProcessorTypes } from '../../payments/settings/check-settings.ts';
import type { Database } from '../../store/postgres/open-database.ts';
import { AcquirerSettings } from '../../store/settings/acquirer-settings.ts';
import { processorSettingsFor, ROUTE_SETTINGS } from '../../store/settings/processor-settings.ts';
import type { SwitchAccess } from '../../switching/switches/access/switch-access.ts';
import type { RouteGuards } from '../idempotency.ts';
import type { Server } from '../server.ts';
import { registerSettingsRoutes } from './admin-settings.ts';

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
): void {
  const ofProcessors = new AcquirerSettings(database, processorSettingsFor(types, access));
  registerSettingsRoutes(server, admin, processors, ofProcessors);
  registerSettingsRoutes(server, admin, routes, new AcquirerSettings(database, ROUTE_SETTINGS));
}
