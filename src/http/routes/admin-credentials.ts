import type { FastifyReply, FastifyRequest } from 'fastify';
import { createdUser } from '#schemas/admin-credentials';
import { ADMIN_OPERATIONS, SETTINGS } from '#schemas/admin-operations';
import { type Administrator, type ApiKeyMode, checkGrant } from '../../auth/api-key.ts';
import { type Authenticator, MERCHANT_TOKEN_SCOPES } from '../../auth/authenticator.ts';
import type { LoginDomain } from '../../auth/portal/log-in.ts';
import { scopesOfUser } from '../../auth/portal/portal-user.ts';
import { AuthError, NotFound } from '../../basics/errors.ts';
import type { Database } from '../../store/postgres/open-database.ts';
import type { Change } from '../../store/settings/admin-commit.ts';
import {
  ApiKeySettings,
  type IssuedKey,
  IssuerKeySettings,
  type IssuerRules,
  UserSettings,
} from '../../store/settings/credential-settings.ts';
import type { RouteGuards } from '../idempotency.ts';
import type { Server } from '../server.ts';
import { routeOf, withZod } from '../with-zod.ts';
import {
  type AdminGuard,
  adminFacts,
  identifyAdministrator,
  identifyOperator,
  locationOf,
  registerReadRoutes,
  registerRemoveRoute,
  registerSettingsRoutes,
} from './admin-settings.ts';

const keys = {
  operations: SETTINGS.apiKeys,
  one: 'an API key',
  many: 'API keys',
  scope: 'credentials:manage',
  takes: ['operatorKey', 'acquirerKey', 'integratorKey'],
  notes: {
    list: 'The list includes revoked keys.',
    remove: 'Revokes an API key. The key stops working within 5 s.',
  },
} as const;

const { makeApiKey, rotateApiKey } = ADMIN_OPERATIONS;

/**
 * The API keys of an acquirer. An acquirer creates them for itself, its integrators and its merchants, an integrator
 * for its merchants. A caller can grant only its own scopes. The key is returned only by the request that creates it.
 */
function registerKeyRoutes(
  server: Server,
  { authenticator, idempotent, apiKeys }: RouteGuards & { readonly apiKeys: ApiKeySettings },
): void {
  const onRequest = identifyKeyHolder(authenticator);
  registerReadRoutes(server, onRequest, keys, apiKeys);
  registerRemoveRoute(server, onRequest, keys, apiKeys);

  withZod(server).route({
    ...routeOf(makeApiKey, 201),
    config: adminFacts('Create an API key', keys, {
      description:
        'Creates an API key for the acquirer, or for one of its integrators or merchants, and returns the key text once. The ' +
        'new key cannot have scopes that the calling key lacks.',
    }),
    onRequest,
    ...idempotent,
    handler: async (request, reply) => {
      checkGrant(request.administrator!, request.body.scopes);
      const issued = await apiKeys.add(request.change!, request.body);
      return created(reply, issued, locationOf(request, issued.stored.id));
    },
  });

  withZod(server).route({
    ...routeOf(rotateApiKey, 201),
    config: adminFacts('Rotate an API key', keys, {
      description:
        'Creates a new key with the owner, scopes and lifetime of the old key, and returns the key text once. The old key ' +
        'remains valid for `overlapHours`. Refused with 409 if the old key has expired or is revoked.',
    }),
    onRequest,
    ...idempotent,
    handler: async (request, reply) => {
      const { acquirerId, id } = request.params;
      const old = await apiKeys.find(request.change!, id);
      checkGrant(request.administrator!, old.scopes);
      const issued = await apiKeys.rotate(request.change!, id, request.body.overlapHours);
      return created(reply, issued, `/acquirers/${acquirerId}/keys/${issued.stored.id}`);
    },
  });
}

/** Accepts the operator, the acquirer, or one of its integrators, which sees only its own keys. */
function identifyKeyHolder(authenticator: Authenticator): AdminGuard {
  return async (request: FastifyRequest) => {
    const { acquirerId } = request.params as { acquirerId: string };
    const holder = await authenticator.keyAlone(request.headers, keys.scope);
    request.change = { ...reachOf(holder, acquirerId), actor: holder.actor };
    request.administrator = holder;
  };
}

/**
 * @throws AuthError for a merchant's key; NotFound for a key of another acquirer, as if that acquirer did not exist
 */
function reachOf({ owner }: Administrator, acquirerId: string): Omit<Change, 'actor'> {
  if (owner === 'operator') return { acquirerId: Number(acquirerId) };
  if (owner.merchantId !== undefined) throw new AuthError('FORBIDDEN', 'owner');
  if (String(owner.acquirerId) !== acquirerId) throw new NotFound();
  return { acquirerId: owner.acquirerId, integratorId: owner.integratorId };
}

function created(reply: FastifyReply, { stored, text }: IssuedKey, location: string) {
  reply.code(201).header('location', location).header('cache-control', 'no-store');
  return { ...stored, key: text.reveal() };
}

const users = {
  operations: SETTINGS.users,
  one: 'a portal user',
  many: 'portal users',
  scope: 'credentials:manage',
  resetPassword: ADMIN_OPERATIONS.resetPasswordOfPortalUser,
} as const;

const usersOfInstallation = {
  operations: {
    list: ADMIN_OPERATIONS.listInstallationUsers,
    add: ADMIN_OPERATIONS.addInstallationUser,
    show: ADMIN_OPERATIONS.showInstallationUser,
    change: ADMIN_OPERATIONS.changeInstallationUser,
    remove: ADMIN_OPERATIONS.removeInstallationUser,
  },
  one: 'an installation user',
  many: 'installation users',
  whose: '',
  scope: 'credentials:manage',
  takes: ['operatorKey'],
  resetPassword: ADMIN_OPERATIONS.resetPasswordOfInstallationUser,
} as const;

/**
 * The portal users of an acquirer, its integrators and merchants, or those of the installation. A caller cannot create a
 * user with more rights than its own.
 */
function registerUserRoutes(
  server: Server,
  { idempotent, settings }: Pick<RouteGuards, 'idempotent'> & { readonly settings: UserSettings },
  routes: typeof users | typeof usersOfInstallation,
  onRequest: AdminGuard,
): void {
  const { one, resetPassword } = routes;
  // Those of the installation differ only in their paths.
  const { add, change } = routes.operations as (typeof users)['operations'];
  registerReadRoutes(server, onRequest, routes, settings);
  registerRemoveRoute(server, onRequest, routes, settings);

  withZod(server).route({
    ...routeOf({ ...add, response: createdUser }, 201),
    config: adminFacts(`Add ${one}`, routes, {
      description: `Adds ${one}. Without a password in the body, the gateway generates one and returns it once. The user cannot have rights that the calling key lacks.`,
    }),
    onRequest,
    ...idempotent,
    handler: async (request, reply) => {
      checkGrant(request.administrator!, scopesOfUser(request.body));
      const { stored, password } = await settings.add(request.change!, request.body);
      reply.code(201).header('location', locationOf(request, stored.id)).header('cache-control', 'no-store');
      return { ...stored, password };
    },
  });

  withZod(server).route({
    ...routeOf(change, 200),
    config: adminFacts(`Change ${one}`, routes, {
      description:
        'Changes the fields in the body; all other fields keep their values. The user cannot have rights that the calling key ' +
        'lacks. With `blocked` false, a lockout by wrong logins ends, too.',
    }),
    onRequest,
    handler: async (request) => {
      const { id } = request.params;
      const { role, permissions, blocked } = request.body;
      const before = await settings.find(request.change!, id);
      const givesRights = role !== undefined || permissions !== undefined || blocked === false;
      if (givesRights) checkGrant(request.administrator!, scopesOfUser({ ...before, ...request.body }));
      return settings.change(request.change!, id, request.body);
    },
  });

  withZod(server).route({
    ...routeOf(resetPassword as typeof users.resetPassword, 200),
    config: adminFacts(`Reset the password of ${one}`, routes, {
      description:
        'Sets a new password, ends the sessions of the user and lifts a lockout by wrong logins. Without a password in the body, the gateway generates one and ' +
        'returns it once.',
    }),
    onRequest,
    ...idempotent,
    handler: async (request, reply) => {
      const { id } = request.params;
      // A caller that sets a user's password can log in as that user.
      checkGrant(request.administrator!, scopesOfUser(await settings.find(request.change!, id)));
      reply.header('cache-control', 'no-store');
      return { password: await settings.resetPassword(request.change!, id, request.body.password) };
    },
  });
}

const issuerKeys = {
  operations: SETTINGS.issuerKeys,
  one: 'an issuer key',
  many: 'issuer keys',
  scope: 'credentials:manage',
  grants: MERCHANT_TOKEN_SCOPES,
  notes: {
    list: 'The list includes revoked keys.',
    add:
      'Register the key as PEM with a proof of its private key, or the URL of a JWKS. The gateway then accepts tokens signed ' +
      'with the key. They can use the scopes `transactions:read`, `transactions:refund` and `devices:manage`, so the calling ' +
      'key must have them.',
    remove: 'Revokes an issuer key. The gateway refuses tokens signed with the key within seconds.',
  },
} as const;

/**
 * The credentials of an acquirer, its integrators and merchants: API keys, portal users, and keys that sign tokens.
 */
export function registerCredentialRoutes(
  server: Server,
  {
    database,
    mode,
    issuerRules,
    loginDomains,
    ...admin
  }: RouteGuards & {
    readonly database: Database;
    /** Mode of the keys that this installation accepts. */
    readonly mode: ApiKeyMode;
    readonly issuerRules: IssuerRules;
    readonly loginDomains: readonly LoginDomain[];
  },
): void {
  registerKeyRoutes(server, { ...admin, apiKeys: new ApiKeySettings(database, mode) });
  const { authenticator, idempotent } = admin;
  const ofUsers = { idempotent, settings: new UserSettings(database, loginDomains) };
  registerUserRoutes(server, ofUsers, users, identifyAdministrator(authenticator, users.scope));
  registerUserRoutes(server, ofUsers, usersOfInstallation, identifyOperator(authenticator, users.scope));
  registerSettingsRoutes(server, admin, issuerKeys, new IssuerKeySettings(database, issuerRules));
}
