import { processorSettings, routeSettings, storedProcessor, storedRoute } from '#schemas/admin';
import type { Authenticator } from '../../auth/authenticator.ts';
import { AcquirerSettings } from '../../store/acquirer-settings.ts';
import type { Database } from '../../store/open-database.ts';
import { PROCESSOR_SETTINGS } from '../../store/processor-settings.ts';
import { ROUTE_SETTINGS } from '../../store/route-settings.ts';
import { checkProcessorSettings, checkRouteSettings, type ProcessorTypes } from '../../transactions/check-routing.ts';
import type { IdempotentRoute } from '../idempotency.ts';
import type { Server } from '../server.ts';
import { registerSettingsRoutes } from './admin-settings.ts';

export interface ProcessorRoutesOptions {
  readonly authenticator: Authenticator;
  readonly idempotent: IdempotentRoute;
  readonly database: Database;
  readonly types: ProcessorTypes;
}

/** The processors of an acquirer, and the routes that lead taps to them. */
export function registerProcessorRoutes(
  server: Server,
  { authenticator, idempotent, database, types }: ProcessorRoutesOptions,
): void {
  registerSettingsRoutes(server, {
    authenticator,
    idempotent,
    name: 'processors',
    body: processorSettings,
    answer: storedProcessor,
    settings: new AcquirerSettings(database, PROCESSOR_SETTINGS),
    check: (settings) => checkProcessorSettings(types, settings),
  });
  registerSettingsRoutes(server, {
    authenticator,
    idempotent,
    name: 'routes',
    body: routeSettings,
    answer: storedRoute,
    settings: new AcquirerSettings(database, ROUTE_SETTINGS),
    check: checkRouteSettings,
  });
}
