import { acquirerPath, numberInPath, pageOf } from '#schemas/admin';
import { acquirerChange, newAcquirer, storedAcquirer } from '#schemas/admin-tenants';
import type { Acquirers } from '../../store/settings/acquirers.ts';
import { withNextPage } from '../next-page.ts';
import { answerList, answerSchema, type Server } from '../server.ts';
import { withZod } from '../with-zod.ts';
import { type AdminRoutes, adminFacts, identifyAdministrator, identifyOperator, operatorOf } from './admin-settings.ts';

const SCOPE = 'tenants:manage';

const operatorFacts = (summary: string, description: string) =>
  adminFacts(summary, { scope: SCOPE, takes: ['operatorKey'] }, { description });

/** The acquirers of the installation. The operator adds and changes them; an acquirer can read its own record. */
export function registerAcquirerRoutes(
  server: Server,
  { authenticator, idempotent, acquirers }: AdminRoutes & { readonly acquirers: Acquirers },
): void {
  const onRequest = identifyOperator(authenticator, SCOPE);
  const response = { 200: answerSchema(storedAcquirer) };

  withZod(server).route({
    method: 'GET',
    url: '/acquirers',
    config: operatorFacts(
      'List acquirers',
      'Lists the acquirers of the installation in ascending order of their ids. The header `Link` (`rel="next"`) leads to the next page.',
    ),
    schema: { querystring: pageOf(numberInPath), response: { 200: answerList(storedAcquirer) } },
    onRequest,
    handler: async (request, reply) => {
      const rows = await acquirers.list(request.query);
      return withNextPage(request, reply, rows, ({ id }) => id);
    },
  });

  withZod(server).route({
    method: 'POST',
    url: '/acquirers',
    config: operatorFacts('Add an acquirer', 'Adds an acquirer to the installation.'),
    schema: { body: newAcquirer, response: { 201: answerSchema(storedAcquirer) } },
    onRequest,
    ...idempotent,
    handler: async (request, reply) => {
      const added = await acquirers.add(request.change!.actor, request.body);
      reply.code(201).header('location', `/acquirers/${added.id}`);
      return added;
    },
  });

  withZod(server).route({
    method: 'GET',
    url: '/acquirers/:acquirerId',
    config: adminFacts('Show an acquirer', { scope: SCOPE }, { description: 'Returns one acquirer.' }),
    schema: { params: acquirerPath, response },
    onRequest: identifyAdministrator(authenticator, SCOPE),
    handler: (request) => acquirers.find(request.params.acquirerId),
  });

  withZod(server).route({
    method: 'PATCH',
    url: '/acquirers/:acquirerId',
    config: operatorFacts(
      'Change an acquirer',
      'Changes the fields in the body; all other fields keep their values. The change takes effect within seconds.',
    ),
    schema: { params: acquirerPath, body: acquirerChange, response },
    // First requires an administrator. For an administrator of one acquirer, another acquirer does not exist.
    onRequest: async (request) => {
      const { acquirerId } = request.params as unknown as { acquirerId: string };
      const principal = await authenticator.administrator(request.headers, acquirerId, SCOPE);
      request.change = { acquirerId: Number(acquirerId), actor: operatorOf(principal) };
    },
    handler: (request) => acquirers.change(request.change!, request.body),
  });
}
