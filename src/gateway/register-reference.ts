import type { Config } from '../config.ts';
import { registerEnumsRoute } from '../http/routes/enums.ts';
import { registerOpenApiRoute } from '../http/routes/openapi.ts';
import type { Server } from '../http/server.ts';

/** What integrators read: the API description, the closed lists. */
export function registerReference(server: Server, config: Config): void {
  registerEnumsRoute(server);
  registerOpenApiRoute(server, config.TAPWIRE_ENV);
}
