import type { FastifyRequest } from 'fastify';
import { z } from 'zod';
import { acquirerPath, pageOf } from '#schemas/admin';
import type { ApiKeyPrincipal } from '../../auth/api-key.ts';
import type { Authenticator } from '../../auth/authenticator.ts';
import type { Scope } from '../../auth/scopes.ts';
import { AuthError } from '../../errors.ts';
import type { Page } from '../../store/settings/acquirer-settings.ts';
import { type Change, INSTALLATION, type Reach } from '../../store/settings/admin-commit.ts';
import type { IdempotentRoute } from '../idempotency.ts';
import { withNextPage } from '../next-page.ts';
import type { Credential, RouteFacts } from '../route-facts.ts';
import { answerSchema, type Server } from '../server.ts';
import { withZod } from '../with-zod.ts';

type Id = number | string;

/** What every admin route is made with. */
export interface AdminRoutes {
  readonly authenticator: Authenticator;
  readonly idempotent: IdempotentRoute;
}

/** Where one kind of settings is kept. */
export interface SettingsStore<Settings, Stored> {
  list(reach: Reach, page: Page): Promise<Stored[]>;
  find(reach: Reach, id: Id): Promise<Stored>;
  add(change: Change, settings: Settings): Promise<Stored>;
  remove(change: Change, id: Id): Promise<void>;
}

/** One kind of an acquirer's settings, as its routes show it. */
export interface SettingsRoutes<Stored extends object> {
  /** The last word of its address: `processors`. */
  readonly name: string;
  /** For summaries: `a processor`, `processors`. */
  readonly one: string;
  readonly many: string;
  readonly scope: Scope;
  /** Who may; the operator and the acquirer itself unless given. */
  readonly takes?: readonly Credential[];
  /** The address of one of them, and what names it there. */
  readonly path: typeof acquirerPath & z.ZodObject<{ id: z.ZodType<Id> }>;
  /** Names it in its own rows; `id` unless given. */
  readonly key?: keyof Stored & string;
  readonly answer: z.ZodType<Stored>;
  /** Sentences for the API reference that hold only for this kind of settings. */
  readonly notes?: {
    readonly list?: string;
    readonly add?: string;
    readonly change?: string;
    readonly remove?: string;
  };
}

/** Lets in whoever may, and notes it as `request.change`. Before the body is read: a stranger gets no further than the headers. */
export type AdminGuard = (request: FastifyRequest) => Promise<void>;

/** Facts of a route for those who administrate an acquirer: the operator and itself. */
export function adminFacts(
  summary: string,
  { scope, takes = ['operatorKey', 'acquirerKey'] }: Pick<SettingsRoutes<object>, 'scope' | 'takes'>,
  { problems = {}, ...more }: Pick<RouteFacts, 'description' | 'name' | 'problems'>,
): { facts: RouteFacts } {
  return { facts: { summary, ...more, section: 'extension', takes, scope, problems: { ...OF_TOKENS, ...problems } } };
}

/** Tokens are not taken; one that comes along is told first what else is wrong with it. */
const OF_TOKENS = { 401: [117, 118], 403: [105] } as const;

/** Something else needs what would go, or the rules of its kind forbid the change. */
const IN_THE_WAY = { 409: [134] } as const;

/** For the operator and for the acquirer itself. */
export function identifyAdministrator(authenticator: Authenticator, scope: Scope): AdminGuard {
  return async (request) => {
    const { acquirerId } = request.params as { acquirerId: string };
    request.keyHolder = await authenticator.administrator(request.headers, acquirerId, scope);
    request.change = { acquirerId: Number(acquirerId), actor: `key ${request.keyHolder.keyId}` };
  };
}

/** For the operator alone, about the installation. */
export function identifyOperator(authenticator: Authenticator, scope: Scope): AdminGuard {
  return async (request) => {
    const principal = await authenticator.keyAlone(request.headers, scope);
    request.change = { acquirerId: INSTALLATION, actor: operatorOf(principal) };
  };
}

/** @throws AuthError for a key of anybody else */
export function operatorOf({ owner, keyId }: ApiKeyPrincipal): string {
  if (owner !== 'operator') throw new AuthError('FORBIDDEN', 'owner');
  return `key ${keyId}`;
}

/** `/acquirers/:acquirerId/<name>`: list, add, show and remove, for the operator and for the acquirer itself. */
export function registerSettingsRoutes<Settings extends object, Stored extends object>(
  server: Server,
  { authenticator, idempotent }: AdminRoutes,
  routes: SettingsRoutes<Stored> & {
    readonly body: z.ZodType<Settings>;
    readonly settings: SettingsStore<Settings, Stored>;
  },
): void {
  const { one, scope, body, answer, settings } = routes;
  const onRequest = identifyAdministrator(authenticator, scope);
  registerReadRoutes(server, onRequest, routes, settings);
  withZod(server).route({
    method: 'POST',
    url: allOf(routes),
    config: adminFacts(`Add ${one}`, routes, {
      description: described(`Adds ${one} to the acquirer.`, routes.notes?.add),
    }),
    schema: { params: acquirerPath, body, response: { 201: answerSchema(answer) } },
    onRequest,
    ...idempotent,
    handler: async (request, reply) => {
      const added = await settings.add(request.change!, request.body as Settings);
      reply.code(201).header('location', locationOf(request, nameOf(routes, added)));
      return added;
    },
  });
  registerRemoveRoute(server, onRequest, routes, settings);
}

/** PUT takes all settings, PATCH those that change. */
export function registerChangeRoute<Settings extends object, Stored extends object>(
  server: Server,
  { authenticator }: AdminRoutes,
  routes: SettingsRoutes<Stored>,
  method: 'PUT' | 'PATCH',
  body: z.ZodType<Settings>,
  settings: { change(change: Change, id: Id, settings: Settings): Promise<Stored> },
): void {
  withZod(server).route({
    method,
    url: oneOf(routes),
    config: adminFacts(`Change ${routes.one}`, routes, {
      description: described(CHANGES[method], routes.notes?.change, 'The change takes effect within seconds.'),
      problems: IN_THE_WAY,
    }),
    schema: { params: routes.path, body, response: { 200: answerSchema(routes.answer) } },
    onRequest: identifyAdministrator(authenticator, routes.scope),
    handler: (request) => settings.change(request.change!, idOf(request), request.body as Settings),
  });
}

export function registerReadRoutes<Stored extends object>(
  server: Server,
  onRequest: AdminGuard,
  routes: SettingsRoutes<Stored>,
  settings: Pick<SettingsStore<never, Stored>, 'list' | 'find'>,
): void {
  const { one, many, path, answer } = routes;
  const querystring = pageOf(path.shape.id);
  withZod(server).route({
    method: 'GET',
    url: allOf(routes),
    config: adminFacts(`List ${many}`, routes, {
      description: described(
        `Lists the ${many} of the acquirer in ascending order of their ids.`,
        routes.notes?.list,
        'The header `Link` (`rel="next"`) leads to the next page.',
      ),
    }),
    schema: { params: acquirerPath, querystring, response: { 200: answerSchema(answer.array()) } },
    onRequest,
    handler: async (request, reply) => {
      const rows = await settings.list(request.change!, request.query as Page);
      return withNextPage(request, reply, rows, (row) => nameOf(routes, row));
    },
  });
  withZod(server).route({
    method: 'GET',
    url: oneOf(routes),
    config: adminFacts(`Show ${one}`, routes, { description: `Returns ${one} of the acquirer.` }),
    schema: { params: path, response: { 200: answerSchema(answer) } },
    onRequest,
    handler: (request) => settings.find(request.change!, idOf(request)),
  });
}

export function registerRemoveRoute<Stored extends object>(
  server: Server,
  onRequest: AdminGuard,
  routes: SettingsRoutes<Stored>,
  settings: Pick<SettingsStore<never, Stored>, 'remove'>,
): void {
  withZod(server).route({
    method: 'DELETE',
    url: oneOf(routes),
    config: adminFacts(`Remove ${routes.one}`, routes, {
      description: routes.notes?.remove ?? `Removes ${routes.one}. Refused with 409 while other objects depend on it.`,
      problems: IN_THE_WAY,
    }),
    schema: { params: routes.path, response: { 204: answerSchema(z.null()) } },
    onRequest,
    handler: async (request, reply) => {
      await settings.remove(request.change!, idOf(request));
      return reply.code(204).send(null);
    },
  });
}

/** What a change route does with the fields of its body, by method. */
const CHANGES = {
  PATCH: 'Changes the fields in the body; all other fields keep their values.',
  PUT: 'Replaces all settings with those in the body.',
} as const;

function described(...sentences: readonly (string | undefined)[]): string {
  return sentences.filter((sentence) => sentence !== undefined).join(' ');
}

/** The address of what was added to the collection that the request is for. */
export function locationOf({ url }: FastifyRequest, name: string): string {
  return `${url.split('?', 1)[0]}/${encodeURIComponent(name)}`;
}

export function allOf({ name }: { readonly name: string }): string {
  return `/acquirers/:acquirerId/${name}`;
}

export function oneOf({ name }: { readonly name: string }): string {
  return `/acquirers/:acquirerId/${name}/:id`;
}

function nameOf<Stored extends object>({ key }: SettingsRoutes<Stored>, row: Stored): string {
  return String(row[key ?? ('id' as keyof Stored)]);
}

function idOf({ params }: { params: unknown }): Id {
  return (params as { id: Id }).id;
}
