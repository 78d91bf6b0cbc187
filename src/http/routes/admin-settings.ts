import type { FastifyRequest } from 'fastify';
import { z } from 'zod';
import { acquirerPath, pageOf } from '#schemas/admin';
import type { Scope } from '#schemas/scopes';
import { type ApiKeyPrincipal, checkGrant } from '../../auth/api-key.ts';
import type { Authenticator } from '../../auth/authenticator.ts';
import { AuthError } from '../../basics/errors.ts';
import type { OnLeftBehind, Page } from '../../store/settings/acquirer-settings.ts';
import { type Change, INSTALLATION, type Reach } from '../../store/settings/admin-commit.ts';
import type { Removal } from '../../store/settings/settings-table.ts';
import type { IdempotentRoute } from '../idempotency.ts';
import { withNextPage } from '../next-page.ts';
import type { Credential, RouteFacts } from '../route-facts.ts';
import { answerList, answerSchema, type Server } from '../server.ts';
import { withZod } from '../with-zod.ts';

type Id = number | string;

/** Dependencies of every admin route. */
export interface AdminRoutes {
  readonly authenticator: Authenticator;
  readonly idempotent: IdempotentRoute;
}

/** The store of one kind of settings. */
export interface SettingsStore<Settings, Stored> {
  list(reach: Reach, page: Page): Promise<Stored[]>;
  find(reach: Reach, id: Id): Promise<Stored>;
  add(change: Change, settings: Settings): Promise<Stored>;
  remove(change: Change, id: Id): Promise<Removal | undefined>;
}

/** Description of one kind of an acquirer's settings for its routes. */
export interface SettingsRoutes<Stored extends object> {
  /** Last segment of its path: `processors`. */
  readonly name: string;
  /** For summaries: `a processor`, `processors`. */
  readonly one: string;
  readonly many: string;
  readonly scope: Scope;
  /** Accepted credentials; the operator and the acquirer itself by default. */
  readonly takes?: readonly Credential[];
  /** The path of one element with the parameter that names it. */
  readonly path: typeof acquirerPath & z.ZodObject<{ id: z.ZodType<Id> }>;
  /** Scopes that an added element can use. The caller must have all of them. */
  readonly grants?: readonly Scope[];
  /** The column of its rows that names it; `id` by default. */
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

/**
 * Accepts permitted callers and sets `request.change`. It runs before the body is read, so the gateway reads only the
 * headers of an unknown caller.
 */
export type AdminGuard = (request: FastifyRequest) => Promise<void>;

/** Facts of a route for the administrators of an acquirer: the operator and the acquirer itself. */
export function adminFacts(
  summary: string,
  { scope, takes = ['operatorKey', 'acquirerKey'] }: Pick<SettingsRoutes<object>, 'scope' | 'takes'>,
  { problems = {}, ...more }: Pick<RouteFacts, 'description' | 'name' | 'problems'>,
): { facts: RouteFacts } {
  return { facts: { summary, ...more, section: 'extension', takes, scope, problems: { ...OF_TOKENS, ...problems } } };
}

/** Tokens are not accepted. A request that has one is first answered with the token's own fault. */
const OF_TOKENS = { 401: [117, 118], 403: [105] } as const;

/** Another resource still needs the removed one, or the rules of its kind forbid the change. */
const IN_THE_WAY = { 409: [134] } as const;

/** Accepts the operator and the acquirer itself. */
export function identifyAdministrator(authenticator: Authenticator, scope: Scope): AdminGuard {
  return async (request) => {
    const { acquirerId } = request.params as { acquirerId: string };
    request.keyHolder = await authenticator.administrator(request.headers, acquirerId, scope);
    request.change = { acquirerId: Number(acquirerId), actor: `key ${request.keyHolder.keyId}` };
  };
}

/** Accepts only the operator, for routes about the installation. */
export function identifyOperator(authenticator: Authenticator, scope: Scope): AdminGuard {
  return async (request) => {
    const principal = await authenticator.keyAlone(request.headers, scope);
    request.change = { acquirerId: INSTALLATION, actor: operatorOf(principal) };
  };
}

/** @throws AuthError unless the key belongs to the operator */
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
      checkGrant(request.keyHolder!, routes.grants ?? []);
      const added = await settings.add(request.change!, request.body as Settings);
      reply.code(201).header('location', locationOf(request, nameOf(routes, added)));
      return added;
    },
  });
  registerRemoveRoute(server, onRequest, routes, settings);
}

/** PUT replaces all settings, PATCH changes the given ones. */
export function registerChangeRoute<Settings extends object, Stored extends object>(
  server: Server,
  { authenticator }: AdminRoutes,
  routes: SettingsRoutes<Stored>,
  method: 'PUT' | 'PATCH',
  body: z.ZodType<Settings>,
  settings: { change(change: Change, id: Id, settings: Settings, onLeftBehind?: OnLeftBehind): Promise<Stored> },
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
    handler: async (request, reply) => {
      let strandedSales = 0;
      const changed = await settings.change(request.change!, idOf(request), request.body as Settings, (left) => {
        strandedSales = left.strandedSales;
      });
      if (strandedSales > 0) reply.header(STRANDED_SALES, strandedSales);
      return changed;
    },
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
    schema: { params: acquirerPath, querystring, response: { 200: answerList(answer) } },
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
      const removal = await settings.remove(request.change!, idOf(request));
      if (removal) reply.header(STRANDED_SALES, removal.strandedSales);
      return reply.code(204).send(null);
    },
  });
}

/** Header of a removal or change that leaves sales which no longer can be voided or refunded: their number. */
const STRANDED_SALES = 'x-stranded-sales';

/** How a change route uses the fields of its body, by method. */
const CHANGES = {
  PATCH: 'Changes the fields in the body; all other fields keep their values.',
  PUT: 'Replaces all settings with those in the body.',
} as const;

function described(...sentences: readonly (string | undefined)[]): string {
  return sentences.filter((sentence) => sentence !== undefined).join(' ');
}

/** The path of an element added to the collection of the request. */
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
