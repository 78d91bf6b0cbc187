import { numberedPath } from '#schemas/admin';
import { processorSettings, routeSettings, storedProcessor, storedRoute } from '#schemas/admin-routing';
import { AcquirerSettings } from '../../store/acquirer-settings.ts';
import type { Database } from '../../store/open-database.ts';
import { processorSettingsFor } from '../../store/processor-settings.ts';
import { ROUTE_SETTINGS } from '../../store/route-settings.ts';
import type { ProcessorTypes } from '../../transactions/check-routing.ts';
import type { Server } from '../server.ts';
import { type AdminRoutes, registerSettingsRoutes } from './admin-settings.ts';

export interface ProcessorRoutesOptions extends AdminRoutes {
  readonly database: Database;
  readonly types: ProcessorTypes;
}

/** The processors of an acquirer, and the routes that lead taps to them. A PUT brings all settings. */
export function registerProcessorRoutes(server: Server, { database, types, ...admin }: ProcessorRoutesOptions): void {
  registerSettingsRoutes(server, admin, {
    name: 'processors',
    one: 'a processor',
    many: 'processors',
    scope: 'processors:manage',
    path: numberedPath,
    body: processorSettings,
    change: { method: 'PUT', body: processorSettings },
    answer: storedProcessor,
    settings: new AcquirerSettings(database, processorSettingsFor(types)),
  });
  registerSettingsRoutes(server, admin, {
    name: 'routes',
    one: 'a route',
    many: 'routes',
    scope: 'processors:manage',
    path: numberedPath,
    body: routeSettings,
    change: { method: 'PUT', body: routeSettings },
    answer: storedRoute,
    settings: new AcquirerSettings(database, ROUTE_SETTINGS),
  });
}
