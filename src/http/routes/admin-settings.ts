import type { FastifyRequest } from 'fastify';
import { z } from 'zod';
import { acquirerPath, pageOf } from '#schemas/admin';
import type { Authenticator } from '../../auth/authenticator.ts';
import type { Scope } from '../../auth/scopes.ts';
import type { AcquirerSettings, Page } from '../../store/acquirer-settings.ts';
import type { IdempotentRoute } from '../idempotency.ts';
import { nextPage } from '../next-page.ts';
import type { RouteFacts } from '../route-facts.ts';
import { answerSchema, type Server } from '../server.ts';
import { withZod } from '../with-zod.ts';

type Id = number | string;

/** What every admin route is made with. */
export interface AdminRoutes {
  readonly authenticator: Authenticator;
  readonly idempotent: IdempotentRoute;
}

/** One kind of an acquirer's settings, as its routes show it. */
export interface SettingsRoutes<Settings extends object, Stored extends object> {
  /** The last word of its address: `processors`. */
  readonly name: string;
  /** For summaries: `a processor`, `processors`. */
  readonly one: string;
  readonly many: string;
  readonly scope: Scope;
  /** The address of one of them, and what names it there. */
  readonly path: typeof acquirerPath & z.ZodObject<{ id: z.ZodType<Id> }>;
  /** Names it in its own rows; `id` unless given. */
  readonly key?: keyof Stored & string;
  readonly body: z.ZodType<Settings>;
  /** PUT takes all settings, PATCH those that change; without it they never do. */
  readonly change?: { readonly method: 'PUT' | 'PATCH'; readonly body: z.ZodType<Partial<Settings>> };
  readonly answer: z.ZodType<Stored>;
  readonly settings: AcquirerSettings<Settings, Stored>;
}

/** Facts of a route for those who administrate an acquirer: its operator and itself. */
export function adminFacts(summary: string, scope: Scope): { facts: RouteFacts } {
  return { facts: { summary, section: 'extension', takes: ['operatorKey', 'acquirerKey'], scope } };
}

/** Lets those in who administrate the acquirer, and notes who it is. Before the body is read: a stranger gets no further than the headers. */
export function identifyAdministrator(authenticator: Authenticator, scope: Scope) {
  return async (request: FastifyRequest): Promise<void> => {
    const { acquirerId } = request.params as { acquirerId: string };
    const { keyId } = await authenticator.administrator(request.headers, acquirerId, scope);
    request.change = { acquirerId: Number(acquirerId), actor: `key ${keyId}` };
  };
}

/** `/acquirers/:acquirerId/<name>`: list, add, show, change and remove, for the operator and for the acquirer itself. */
export function registerSettingsRoutes<Settings extends object, Stored extends object>(
  server: Server,
  admin: AdminRoutes,
  routes: SettingsRoutes<Settings, Stored>,
): void {
  const onRequest = identifyAdministrator(admin.authenticator, routes.scope);
  registerCollection(server, admin.idempotent, onRequest, routes);
  registerMembers(server, onRequest, routes);
}

type Guard = (request: FastifyRequest) => Promise<void>;

function registerCollection<Settings extends object, Stored extends object>(
  server: Server,
  idempotent: IdempotentRoute,
  onRequest: Guard,
  { name, one, many, scope, path, key, body, answer, settings }: SettingsRoutes<Settings, Stored>,
): void {
  const url = `/acquirers/:acquirerId/${name}`;
  const nameOf = (row: Stored) => String(row[key ?? ('id' as keyof Stored)]);

  withZod(server).route({
    method: 'GET',
    url,
    config: adminFacts(`List ${many}`, scope),
    schema: {
      params: acquirerPath,
      querystring: pageOf(path.shape.id),
      response: { 200: answerSchema(answer.array()) },
    },
    onRequest,
    handler: async (request, reply) => {
      const page = request.query as Page;
      const rows = await settings.list(request.change!, page);
      if (rows.length === page.limit) reply.header('link', nextPage(request.url, nameOf(rows.at(-1)!)));
      return rows;
    },
  });

  withZod(server).route({
    method: 'POST',
    url,
    config: adminFacts(`Add ${one}`, scope),
    schema: { params: acquirerPath, body, response: { 201: answerSchema(answer) } },
    onRequest,
    ...idempotent,
    handler: async (request, reply) => {
      const added = await settings.add(request.change!, request.body as Settings);
      reply.code(201).header('location', `${request.url.split('?', 1)[0]}/${encodeURIComponent(nameOf(added))}`);
      return added;
    },
  });
}

function registerMembers<Settings extends object, Stored extends object>(
  server: Server,
  onRequest: Guard,
  { name, one, scope, path, change, answer, settings }: SettingsRoutes<Settings, Stored>,
): void {
  const url = `/acquirers/:acquirerId/${name}/:id`;
  const response = { 200: answerSchema(answer) };
  const idOf = ({ params }: { params: unknown }) => (params as { id: Id }).id;

  withZod(server).route({
    method: 'GET',
    url,
    config: adminFacts(`Show ${one}`, scope),
    schema: { params: path, response },
    onRequest,
    handler: (request) => settings.find(request.change!, idOf(request)),
  });

  if (change) {
    withZod(server).route({
      method: change.method,
      url,
      config: adminFacts(`Change ${one}`, scope),
      schema: { params: path, body: change.body, response },
      onRequest,
      handler: (request) => settings.change(request.change!, idOf(request), request.body as Partial<Settings>),
    });
  }

  withZod(server).route({
    method: 'DELETE',
    url,
    config: adminFacts(`Remove ${one}`, scope),
    schema: { params: path, response: { 204: answerSchema(z.null()) } },
    onRequest,
    handler: async (request, reply) => {
      await settings.remove(request.change!, idOf(request));
      return reply.code(204).send(null);
    },
  });
}
