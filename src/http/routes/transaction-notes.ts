import { OPERATIONS } from '#schemas/operations';
import type { Database } from '../../store/postgres/open-database.ts';
import { addNote, findNotesOf } from '../../store/transactions/transaction-notes.ts';
import type { RouteGuards } from '../idempotency.ts';
import type { Server } from '../server.ts';
import { routeOf, withZod } from '../with-zod.ts';
import { adminFacts, identifyAdministrator } from './admin-settings.ts';

/** Who may refund a sale may write a note about it; who may read a transaction reads its notes. */
const [READ, WRITE] = ['transactions:read', 'transactions:refund'] as const;

/** The notes of an acquirer's staff on a transaction. */
export function registerTransactionNoteRoutes(
  server: Server,
  { authenticator, idempotent }: RouteGuards,
  database: Database,
): void {
  const routes = withZod(server);

  routes.route({
    ...routeOf(OPERATIONS.listNotesOfTransaction, 200),
    config: adminFacts(
      'List the notes of a transaction',
      { scope: READ },
      { description: 'Lists the notes of the staff of the acquirer on a transaction, oldest first.' },
    ),
    onRequest: identifyAdministrator(authenticator, READ),
    handler: ({ params: { acquirerId, id } }) => findNotesOf(database, { acquirerId, id }),
  });

  routes.route({
    ...routeOf(OPERATIONS.addNoteToTransaction, 201),
    config: adminFacts(
      'Add a note to a transaction',
      { scope: WRITE },
      {
        description:
          'Adds a note, which only the acquirer and the operator see. A note can be neither changed nor removed, and is deleted with the audit trail. A text that may contain a card number is refused.',
        problems: { 409: [134] },
      },
    ),
    onRequest: identifyAdministrator(authenticator, WRITE),
    ...idempotent,
    handler: async (request, reply) => {
      const note = await addNote(database, request.params, { ...request.body, author: request.change!.actor });
      return reply.code(201).send(note);
    },
  });
}
