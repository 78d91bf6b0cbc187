import type { RecordedChange } from '#schemas/admin-audit';
import { OPERATIONS } from '#schemas/operations';
import type { Authenticator } from '../../auth/authenticator.ts';
import type { Database } from '../../store/postgres/open-database.ts';
import { type ChangePage, listAdminEvents } from '../../store/settings/admin-events.ts';
import type { Server } from '../server.ts';
import { routeOf, withNextPage, withZod } from '../with-zod.ts';
import { adminFacts, identifyAdministrator, identifyOperator } from './admin-settings.ts';

const scope = 'audit:read';
const NEXT_PAGE = 'The header `Link` (`rel="next"`) leads to the next page.';

/** The admin events: an acquirer reads its own, the operator of the installation reads all. */
export function registerAuditRoutes(server: Server, authenticator: Authenticator, database: Database): void {
  const list = (acquirerId: number | undefined, page: ChangePage) => listAdminEvents(database, { ...page, acquirerId });
  const nameOf = ({ number }: RecordedChange) => number;

  withZod(server).route({
    ...routeOf(OPERATIONS.listChangesOfInstallation, 200),
    config: adminFacts(
      'List changes of the installation',
      { scope, takes: ['operatorKey'] },
      { description: `Lists the admin events of all acquirers and of the installation, newest first. ${NEXT_PAGE}` },
    ),
    onRequest: identifyOperator(authenticator, scope),
    handler: async (request, reply) => withNextPage(request, reply, await list(undefined, request.query), nameOf),
  });

  withZod(server).route({
    ...routeOf(OPERATIONS.listChanges, 200),
    config: adminFacts(
      'List changes',
      { scope },
      { description: `Lists the admin events of the acquirer, newest first: who changed which setting. ${NEXT_PAGE}` },
    ),
    onRequest: identifyAdministrator(authenticator, scope),
    handler: async (request, reply) =>
      withNextPage(request, reply, await list(request.params.acquirerId, request.query), nameOf),
  });
}
