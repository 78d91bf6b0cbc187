import type { FastifyRequest } from 'fastify';
import type { z } from 'zod';
import type { Operation } from '#schemas/operation';
import type { Scope } from '#schemas/scopes';
import { type Administrator, checkGrant } from '../../auth/api-key.ts';
import type { Authenticator } from '../../auth/authenticator.ts';
import { AuthError } from '../../basics/errors.ts';
import type { OnLeftBehind, Page } from '../../store/settings/acquirer-settings.ts';
import { type Change, INSTALLATION, type Reach } from '../../store/settings/admin-commit.ts';
import type { Removal } from '../../store/settings/settings-table.ts';
import type { RouteGuards } from '../idempotency.ts';
import type { Credential, RouteFacts } from '../route-table.ts';
import type { Server } from '../server.ts';
import { routeOf, withNextPage, withZod } from '../with-zod.ts';

type Id = number | string;

/** The store of one kind of settings. */
interface SettingsStore<Stored> {
  list(reach: Reach, page: Page): Promise<Stored[]>;
  find(reach: Reach, id: Id): Promise<Stored>;
  remove(change: Change, id: Id): Promise<Removal | undefined>;
}

interface ChangeableSettings<Settings, Stored> extends SettingsStore<Stored> {
  add(change: Change, settings: Settings): Promise<Stored>;
  /** Called only if the kind has an operation for it. */
  change?(change: Change, id: Id, settings: Partial<Settings>, onLeftBehind?: OnLeftBehind): Promise<Stored>;
}

/** An operation that names an acquirer, or one of its settings. */
type SettingsOperation = Operation & { readonly params?: z.ZodType };

/** Description of one kind of an acquirer's settings for its routes. */
export interface SettingsRoutes<Stored extends object> {
  /** The entry in `SETTINGS` of schemas/admin-operations.ts. */
  readonly operations: {
    readonly list: SettingsOperation & { readonly query: z.ZodType; readonly response: z.ZodType<Stored[]> };
    readonly add: SettingsOperation & { readonly body: z.ZodType };
    readonly show: SettingsOperation & { readonly response: z.ZodType<Stored> };
    readonly remove: SettingsOperation;
    readonly change?: SettingsOperation & { readonly method: 'PATCH' | 'PUT'; readonly body: z.ZodType };
  };
  /** What an entry is called in summaries: `a processor`. */
  readonly one: string;
  readonly many: string;
  /** Follows the name in descriptions; ` of the acquirer` by default. */
  readonly whose?: string;
  readonly scope: Scope;
  /** Accepted credentials; the operator and the acquirer itself by default. */
  readonly takes?: readonly Credential[];
  /** Scopes that an added element can use. The caller must have all of them. */
  readonly grants?: readonly Scope[];
  /** The column of its rows that names it; `id` by default. */
  readonly key?: keyof Stored & string;
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
  { problems = {}, ...more }: Pick<RouteFacts, 'description' | 'problems'>,
): { facts: RouteFacts } {
  return { facts: { summary, ...more, section: 'extension', takes, scope, problems: { ...OF_TOKENS, ...problems } } };
}

/** Tokens are not accepted. A request that has one first receives the token's own fault. */
const OF_TOKENS = { 401: [117, 118], 403: [105] } as const;

/** Another resource still needs the removed one, or the rules of its kind forbid the change. */
const IN_THE_WAY = { 409: [134] } as const;

/** Accepts the operator and the acquirer itself. */
export function identifyAdministrator(authenticator: Authenticator, scope: Scope): AdminGuard {
  return async (request) => {
    const { acquirerId } = request.params as { acquirerId: string };
    request.administrator = await authenticator.administrator(request.headers, acquirerId, scope);
    request.change = { acquirerId: Number(acquirerId), actor: request.administrator.actor };
  };
}

/** Accepts only the operator, for routes about the installation. */
export function identifyOperator(authenticator: Authenticator, scope: Scope): AdminGuard {
  return async (request) => {
    const principal = await authenticator.keyAlone(request.headers, scope);
    request.administrator = principal;
    request.change = { acquirerId: INSTALLATION, actor: operatorOf(principal) };
  };
}

/** @throws AuthError unless the caller is the operator */
export function operatorOf({ owner, actor }: Administrator): string {
  if (owner !== 'operator') throw new AuthError('FORBIDDEN', 'owner');
  return actor;
}

/** List, add, show, remove and change, as far as the kind has them, for the operator and for the acquirer itself. */
export function registerSettingsRoutes<Settings extends object, Stored extends object>(
  server: Server,
  { authenticator, idempotent }: RouteGuards,
  routes: SettingsRoutes<Stored>,
  settings: ChangeableSettings<Settings, Stored>,
): void {
  const { one, operations, scope, notes } = routes;
  const { add, change } = operations;
  const onRequest = identifyAdministrator(authenticator, scope);
  registerReadRoutes(server, onRequest, routes, settings);
  withZod(server).route({
    ...routeOf(add, 201),
    config: adminFacts(`Add ${one}`, routes, { description: described(`Adds ${one} to the acquirer.`, notes?.add) }),
    onRequest,
    ...idempotent,
    handler: async (request, reply) => {
      checkGrant(request.administrator!, routes.grants ?? []);
      const added = await settings.add(request.change!, request.body as Settings);
      reply.code(201).header('location', locationOf(request, nameOf(routes, added)));
      return added;
    },
  });
  registerRemoveRoute(server, onRequest, routes, settings);
  if (!change) return;
  withZod(server).route({
    ...routeOf(change, 200),
    config: adminFacts(`Change ${one}`, routes, {
      description: described(CHANGES[change.method], notes?.change, 'The change takes effect within seconds.'),
      problems: IN_THE_WAY,
    }),
    onRequest,
    handler: async (request, reply) => {
      let strandedSales = 0;
      const onLeftBehind = (left: Removal) => {
        strandedSales = left.strandedSales;
      };
      const given = request.body as Partial<Settings>;
      const changed = await settings.change!(request.change!, idOf(request), given, onLeftBehind);
      if (strandedSales > 0) reply.header(STRANDED_SALES, strandedSales);
      return changed;
    },
  });
}

export function registerReadRoutes<Stored extends object>(
  server: Server,
  onRequest: AdminGuard,
  routes: SettingsRoutes<Stored>,
  settings: Pick<SettingsStore<Stored>, 'list' | 'find'>,
): void {
  const { one, many, whose = ' of the acquirer', operations, notes } = routes;
  const { list, show } = operations;
  withZod(server).route({
    ...routeOf(list, 200),
    config: adminFacts(`List ${many}`, routes, {
      description: described(
        `Lists the ${many}${whose} in ascending order of their ids.`,
        notes?.list,
        'The header `Link` (`rel="next"`) leads to the next page.',
      ),
    }),
    onRequest,
    handler: async (request, reply) => {
      const rows = await settings.list(request.change!, request.query as Page);
      return withNextPage(request, reply, rows, (row) => nameOf(routes, row));
    },
  });
  withZod(server).route({
    ...routeOf(show, 200),
    config: adminFacts(`Show ${one}`, routes, { description: `Returns ${one}${whose}.` }),
    onRequest,
    handler: (request) => settings.find(request.change!, idOf(request)),
  });
}

export function registerRemoveRoute<Stored extends object>(
  server: Server,
  onRequest: AdminGuard,
  routes: SettingsRoutes<Stored>,
  settings: Pick<SettingsStore<Stored>, 'remove'>,
): void {
  const { remove } = routes.operations;
  withZod(server).route({
    ...routeOf(remove, 204),
    config: adminFacts(`Remove ${routes.one}`, routes, {
      description: routes.notes?.remove ?? `Removes ${routes.one}. Refused with 409 while other objects depend on it.`,
      problems: IN_THE_WAY,
    }),
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

function nameOf<Stored extends object>({ key }: SettingsRoutes<Stored>, row: Stored): string {
  return String(row[key ?? ('id' as keyof Stored)]);
}

function idOf({ params }: { params: unknown }): Id {
  return (params as { id: Id }).id;
}
