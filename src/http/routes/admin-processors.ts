import { processorPath, routePath } from '#schemas/admin';
import {
  processorChange,
  processorSettings,
  routeSettings,
  storedProcessor,
  storedRoute,
} from '#schemas/admin-routing';
import type { ProcessorTypes } from '../../payments/settings/check-routing.ts';
import type { Database } from '../../store/postgres/open-database.ts';
import { AcquirerSettings } from '../../store/settings/acquirer-settings.ts';
import { processorSettingsFor } from '../../store/settings/processor-settings.ts';
import { ROUTE_SETTINGS } from '../../store/settings/route-settings.ts';
import type { SwitchAccess } from '../../switching/switches/access/switch-access.ts';
import type { Server } from '../server.ts';
import {
  type AdminRoutes,
  registerChangeRoute,
  registerSettingsRoutes,
  type SettingsRoutes,
} from './admin-settings.ts';

const processors = {
  name: 'processors',
  one: 'a processor',
  many: 'processors',
  scope: 'processors:manage',
  path: processorPath,
  answer: storedProcessor,
  notes: {
    add: 'The processor receives taps once a route leads to it.',
    change:
      'The type of a processor cannot be changed. What identifies the switch (addresses, listener, ids, keys) can be changed while no transaction is open there, or with the statement `isSameSwitch`. Without the statement, sales at the former switch can be neither voided nor refunded through the gateway: the header `x-stranded-sales` has the number of sales of the open business day that could still be voided.',
    remove:
      'Removes a processor. Refused with 409 while routes lead to the processor or transactions are open at it. Its sales can then be neither voided nor refunded through the gateway: the header `x-stranded-sales` has the number of sales of the open business day that could still be voided.',
  },
} as const satisfies SettingsRoutes<object>;

const routes = {
  name: 'routes',
  one: 'a route',
  many: 'routes',
  scope: 'processors:manage',
  path: routePath,
  answer: storedRoute,
  notes: {
    add: 'A route assigns taps to a processor. The gateway tries matching routes in ascending order of priority.',
    change: 'The processor of a route cannot be changed.',
    remove: 'Removes a route. New taps no longer use the route.',
  },
} as const satisfies SettingsRoutes<object>;

export interface ProcessorRoutesOptions extends AdminRoutes {
  readonly database: Database;
  readonly types: ProcessorTypes;
  readonly access: SwitchAccess;
}

/** The processors of an acquirer, and the routes that assign transactions to them. */
export function registerProcessorRoutes(
  server: Server,
  { database, types, access, ...admin }: ProcessorRoutesOptions,
): void {
  const ofProcessors = new AcquirerSettings(database, processorSettingsFor(types, access));
  registerSettingsRoutes(server, admin, { ...processors, body: processorSettings, settings: ofProcessors });
  registerChangeRoute(server, admin, processors, 'PUT', processorChange, ofProcessors);
  const ofRoutes = new AcquirerSettings(database, ROUTE_SETTINGS);
  registerSettingsRoutes(server, admin, { ...routes, body: routeSettings, settings: ofRoutes });
  registerChangeRoute(server, admin, routes, 'PUT', routeSettings, ofRoutes);
}
